/** Certificates by openssl, each with an authority of its own. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Files of a TLS Secret, base64, by key. */
export type TlsFiles = Readonly<Record<"tls.crt" | "tls.key" | "ca.crt", string>>;

/**
 * @param hosts that the certificate names, with or without wildcards
 * @param days for which it is valid from now on; negative for one that has expired
 */
export function issueCertificate(hosts: readonly string[], days = 1): TlsFiles {
  const directory = mkdtempSync(join(tmpdir(), "certificate-"));
  const openssl = (...args: readonly string[]): void => {
    execFileSync("openssl", args, { cwd: directory, stdio: "ignore" });
  };
  const file = (name: string): string => readFileSync(join(directory, name)).toString("base64");
  try {
    writeFileSync(join(directory, "names"), `subjectAltName=${hosts.map((host) => `DNS:${host}`).join(",")}`);
    openssl(
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority"],
      ...["-keyout", "ca.key", "-out", "ca.crt"],
    );
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=servers", "-keyout", "tls.key", "-out", "tls.csr");
    openssl(
      ...["x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"],
      ...["-days", String(days), "-extfile", "names", "-out", "tls.crt"],
    );
    return { "tls.crt": file("tls.crt"), "tls.key": file("tls.key"), "ca.crt": file("ca.crt") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Names that a deployment's certificate needs. */
export function serverHosts(namespace: string, ...deployments: readonly string[]): string[] {
  const suffix = `${namespace}.svc.cluster.local`;
  return deployments.flatMap((name) => [`${name}.${suffix}`, `*.${name}-headless.${suffix}`]);
}
