/** A real proxy with the configuration that its pods have, in front of servers of this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { proxyFiles } from "../../../components/kubernetes/replication/proxies";
import { cacheDirectory } from "../../../lib/system/paths";
import { fetchPrograms, unpackedPrograms } from "../../../platforms/host/programs/debian-packages";
import { findFreePorts } from "../../../platforms/host/ports";
import type { Deployment } from "../../../valkey/deployment";
import { never } from "./real";

let program: Promise<string | undefined> | undefined;

export function proxyProgram(): Promise<string | undefined> {
  const packages = join(cacheDirectory(), "packages-haproxy");
  program ??= (async () => {
    const [unpacked] = unpackedPrograms(packages, "haproxy");
    return join(unpacked ?? (await fetchPrograms(packages, () => undefined, never, "forky", "haproxy")), "haproxy");
  })().catch(() => undefined);
  return program;
}

export class Proxy {
  private constructor(
    private readonly directory: string,
    private readonly port: number,
    private readonly statusPort: number,
    private readonly password: string,
    private readonly process: ChildProcess,
  ) {}

  static async start(haproxy: string, { name, nodes, sentinels, access }: Deployment): Promise<Proxy> {
    const { password = "" } = access;
    const directory = mkdtempSync(join(tmpdir(), "valkey-proxy-"));
    const [port = 0, statusPort = 0] = await findFreePorts(2);
    const watchers = sentinels?.nodes ?? [];
    const files = proxyFiles({
      deployment: name,
      servers: nodes.map(({ endpoint: { host } }) => host),
      sentinels: watchers.map(({ endpoint: { host } }) => host),
      downAfterMs: sentinels?.settings.downAfterMs ?? 0,
      tls: false,
    });
    // Pods have the same ports and paths; processes of this machine have different ones.
    const own = (text: string): string =>
      [...nodes, ...watchers].reduce(
        (config, { endpoint: at }) => config.replace(new RegExp(`(${at.host}):(6379|26379) `), `$1:${at.port} `),
        text
          .replaceAll("/valkey/proxy/", `${directory}/`)
          .replaceAll("/valkey/secret/", `${directory}/`)
          .replaceAll("abns@", `abns@${directory}-`)
          .replace("bind :6379", `bind 127.0.0.1:${port}`)
          .replace("bind :8404", `bind 127.0.0.1:${statusPort}`),
      );
    for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), own(text));
    writeFileSync(join(directory, "password"), password);
    writeFileSync(join(directory, "sentinel-reader"), password);
    const process = spawn(haproxy, ["-db", "-f", join(directory, "haproxy.cfg")], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [process.stdout, process.stderr]) stream.on("data", (text) => (output += String(text)));
    const proxy = new Proxy(directory, port, statusPort, password, process);
    process.once("exit", (status) => {
      if (status !== null && status !== 0) throw new Error(`HAProxy ended with status ${status}: ${output}`);
    });
    return proxy;
  }

  async isReady(): Promise<boolean> {
    return fetch(`http://127.0.0.1:${this.statusPort}/`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  /** Opens a new connection. @returns `HOST:PORT` of the server that it reaches; undefined if it reaches none */
  async reaches(): Promise<string | undefined> {
    const client = new Redis({
      ...{ port: this.port, password: this.password, retryStrategy: () => null },
      ...{ lazyConnect: true, connectTimeout: 500, commandTimeout: 500 },
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      const found = await client.config("GET", "bind");
      return found[1]?.split(" ")[0];
    } catch {
      return undefined;
    } finally {
      client.disconnect();
    }
  }

  async stop(): Promise<void> {
    if (this.process.exitCode === null) {
      const gone = once(this.process, "exit");
      this.process.kill("SIGKILL");
      await gone;
    }
    rmSync(this.directory, { recursive: true });
  }
}
