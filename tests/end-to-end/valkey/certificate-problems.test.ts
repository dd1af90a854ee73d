/** A real server whose certificate no client accepts: what Kubernetes and the scripts of its pod do then. */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { livenessProbe } from "../../../components/kubernetes/pods/probes";
import { useSandbox } from "../../support/valkey/hooks";
import { type TlsServer, startTlsServer } from "../../support/valkey/tls-server";

const run = promisify(execFile);
const SCRIPTS = join(__dirname, "../../../components/kubernetes/scripts");
const PASSWORD = "a password as long as it gets";
const RSA = ["-newkey", "rsa:2048", "-nodes"];

const sandbox = useSandbox();
let directory: string;
let server: TlsServer;
beforeAll(async () => {
  directory = sandbox.host.run.path;
  const openssl = (...args: readonly string[]): Promise<unknown> => run("openssl", args, { cwd: directory });
  await openssl("req", "-x509", ...RSA, "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt");
  await openssl("req", ...RSA, "-subj", "/CN=localhost", "-keyout", "tls.key", "-out", "tls.csr");
  const signed = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"];
  // It ended a day before it was made.
  await openssl("x509", "-req", "-in", "tls.csr", ...signed, "-days", "-1", "-out", "tls.crt");
  await openssl("x509", "-req", "-in", "tls.csr", ...signed, "-days", "1", "-out", "valid.crt");
  server = await startTlsServer(sandbox, join(directory, "tls"), {
    "tls-cert-file": join(directory, "tls.crt"),
    "tls-key-file": join(directory, "tls.key"),
    requirepass: PASSWORD,
  });
  writeFileSync(join(directory, "password"), PASSWORD);
  // `localhost` in the pod, at the port of a pod.
  const { cli, server: program } = sandbox.host.programs;
  const here = `[ "$4" != 6379 ] || { shift 4 && set -- -h 127.0.0.1 -p ${server.port} "$@"; }`;
  writeFileSync(join(directory, "valkey-cli"), `#!/bin/sh\n${here}\nexec '${cli}' "$@"\n`, { mode: 0o755 });
  writeFileSync(join(directory, "valkey-server"), `#!/bin/sh\nexec '${program}' "$@"\n`, { mode: 0o755 });
});
afterAll(() => {
  server.stop();
});

const environment = (authority: string): NodeJS.ProcessEnv => ({
  PATH: `${directory}:${process.env["PATH"] ?? ""}`,
  VALKEY_PASSWORD_FILE: join(directory, "password"),
  VALKEY_TLS_CA: authority,
});

describe.each([
  ["that has expired", "ca.crt"],
  ["of another authority", "tls/cert.pem"],
])("a certificate %s", (_problem, authority) => {
  it("lets no kubelet restart the server", async () => {
    const { exec } = livenessProbe(true) as { readonly exec: { readonly command: readonly string[] } };
    const [, ...args] = exec.command;
    const command = args.map((each) => (each === "6379" ? String(server.port) : each));
    expect((await run(sandbox.host.programs.cli, command)).stdout).toMatch(/^(PONG|NOAUTH)/);
  });

  it("lets scripts talk to the server of their own pod, which they stop in order", async () => {
    const script = `. ${SCRIPTS}/node.sh; look; echo "$role $loading"; echo "CONFIG SET shutdown-on-sigterm save" | tell localhost 3`;
    const { stdout } = await run("sh", ["-c", script], { env: environment(join(directory, authority)) });
    expect(stdout).toBe("master 0\nOK\n");
  });

  it("is refused between servers", async () => {
    const script = `. ${SCRIPTS}/node.sh; echo PING | tell 127.0.0.1 3`;
    const { stdout } = await run("sh", ["-c", script], { env: environment(join(directory, authority)) });
    expect(stdout).toBe("");
  });
});

describe("a certificate that changes in the Secret", () => {
  /** Whether the script of a probe has the server load files: the authority beside them, the certificate and its key. */
  async function isLoaded(certificate: string, key: string): Promise<boolean> {
    const files = join(directory, "files");
    mkdirSync(files);
    for (const [from, to] of [
      ["ca.crt", "ca.crt"],
      [certificate, "tls.crt"],
      [key, "tls.key"],
    ] as const)
      copyFileSync(join(directory, from), join(files, to));
    const script = `. ${SCRIPTS}/node.sh; . ${SCRIPTS}/keeper.sh; look; reload_certificate`;
    try {
      await run("sh", ["-c", script], { env: { ...environment(join(files, "ca.crt")), DATA: files } });
      return existsSync(join(files, "loaded-certificate"));
    } finally {
      rmSync(files, { recursive: true });
    }
  }

  it("is loaded only if clients of its authority accept it", async () => {
    expect(await isLoaded("tls.crt", "tls.key")).toBe(false);
    expect(await isLoaded("tls/cert.pem", "tls/key.pem")).toBe(false);
    expect(await isLoaded("valid.crt", "tls.key")).toBe(true);
    // A key of another certificate.
    expect(await isLoaded("valid.crt", "tls/key.pem")).toBe(false);
  });
});
