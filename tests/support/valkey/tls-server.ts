/** A real server that speaks TLS alone, with a certificate of its own for `localhost`. */
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { findFreePorts } from "../../../platforms/host/ports";
import { startRecorded } from "../../../platforms/host/processes";
import { type Sandbox, eventuallyAccepts } from "./real";

const run = promisify(execFile);

export interface TlsServer {
  readonly port: number;
  readonly certificate: string;
  readonly stop: () => void;
}

export async function startTlsServer(
  { host }: Sandbox,
  directory: string,
  directives: Readonly<Record<string, string>> = {},
): Promise<TlsServer> {
  mkdirSync(directory);
  const [key, certificate] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  const files = ["-keyout", key, "-out", certificate];
  await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", ...names, ...files]);
  const [port = 0] = await findFreePorts(1);
  const options = {
    port: "0",
    "tls-port": String(port),
    bind: "127.0.0.1",
    dir: directory,
    save: "",
    "tls-cert-file": certificate,
    "tls-key-file": key,
    "tls-ca-cert-file": certificate,
    "tls-auth-clients": "no",
    ...directives,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const { child } = startRecorded(host.run, "tls", host.programs.server, args, { stdio: "ignore" });
  await eventuallyAccepts(
    "tls",
    { host: "127.0.0.1", port },
    { password: directives["requirepass"], tls: { insecure: true } },
  );
  return { port, certificate, stop: () => child.kill() };
}
