/** Certificates by openssl. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { objectNames } from "../../../components/kubernetes/names";

export type TlsFiles = Readonly<Record<"tls.crt" | "tls.key" | "ca.crt", string>>;

export class CertificateAuthority {
  readonly #key: string;
  readonly #certificate: string;

  constructor() {
    [this.#key = "", this.#certificate = ""] = inDirectory((openssl, file) => {
      openssl(
        ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=authority"],
        ...["-keyout", "ca.key", "-out", "ca.crt"],
      );
      return [file("ca.key"), file("ca.crt")];
    });
  }

  get certificate(): string {
    return this.#certificate;
  }

  /**
   * @param hosts that the certificate names, with or without wildcards
   * @param days for which it is valid from now on; negative for one that has expired
   */
  issue(hosts: readonly string[], days = 1): TlsFiles {
    return inDirectory((openssl, file, write) => {
      write("names", Buffer.from(`subjectAltName=${hosts.map((host) => `DNS:${host}`).join(",")}`));
      write("ca.key", Buffer.from(this.#key, "base64"));
      write("ca.crt", Buffer.from(this.#certificate, "base64"));
      openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=servers", "-keyout", "tls.key", "-out", "tls.csr");
      openssl(
        ...["x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"],
        ...["-days", String(days), "-extfile", "names", "-out", "tls.crt"],
      );
      return { "tls.crt": file("tls.crt"), "tls.key": file("tls.key"), "ca.crt": this.#certificate };
    });
  }
}

export function issueCertificate(hosts: readonly string[]): TlsFiles {
  return new CertificateAuthority().issue(hosts);
}

function inDirectory<Result>(
  use: (
    openssl: (...args: readonly string[]) => void,
    file: (name: string) => string,
    write: (name: string, content: Buffer) => void,
  ) => Result,
): Result {
  const directory = mkdtempSync(join(tmpdir(), "certificate-"));
  try {
    return use(
      (...args) => void execFileSync("openssl", args, { cwd: directory, stdio: "ignore" }),
      (name) => readFileSync(join(directory, name)).toString("base64"),
      (name, content) => {
        writeFileSync(join(directory, name), content);
      },
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

export function serverHosts(namespace: string, ...deployments: readonly string[]): string[] {
  const suffix = `${namespace}.svc.cluster.local`;
  return deployments.flatMap((name) => {
    const { client, headless, sentinel } = objectNames(name);
    return [`${client}.${suffix}`, `*.${headless}.${suffix}`, `*.${sentinel}.${suffix}`];
  });
}
