/** Real servers of several versions without a deployment, each in a directory of its own. */
import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory, comparisonPackagesDirectory } from "../../../lib/system/paths";
import { findFreePorts } from "../../../platforms/host/ports";
import { startRecorded } from "../../../platforms/host/processes";
import { fetchPrograms, unpackedPrograms } from "../../../platforms/host/programs/debian-packages";
import { type Programs, inspectPrograms } from "../../../platforms/host/programs/programs";
import { type Connection, connect } from "../../../valkey/connection";
import type { Endpoint, NodeAccess } from "../../../valkey/node";
import { type Sandbox, eventually, never, olderPrograms, realPrograms } from "./real";

const run = promisify(execFile);

export interface ServerProcess {
  readonly endpoint: Endpoint;
  readonly access: NodeAccess;
  readonly directory: string;
  /** For commands that return texts. */
  readonly connection: Connection;
  readonly kill: () => Promise<void>;
}

async function redisPrograms(packages: string, suite?: string): Promise<Programs | undefined> {
  try {
    const directory =
      unpackedPrograms(packages, "redis")[0] ?? (await fetchPrograms(packages, () => undefined, never, suite, "redis"));
    const programs = await inspectPrograms(directory, "Debian packages", "redis");
    return typeof programs === "string" ? undefined : programs;
  } catch {
    return undefined;
  }
}

export const VERSIONS = ["Valkey 9.1", "Valkey 8.1", "Redis 7.0", "newest Redis"] as const;

export function programsOf(version: (typeof VERSIONS)[number]): Promise<Programs | undefined> {
  switch (version) {
    case "Valkey 9.1":
      return realPrograms();
    case "Valkey 8.1":
      return olderPrograms();
    case "Redis 7.0":
      return redisPrograms(join(cacheDirectory(), "packages-redis-7.0"), "bookworm-backports");
    case "newest Redis":
      return redisPrograms(comparisonPackagesDirectory());
  }
}

const DIRECTIVES = {
  save: "",
  "enable-debug-command": "local",
  "repl-diskless-sync-delay": "0",
  bind: "127.0.0.1",
};

export async function startServer(
  { host }: Sandbox,
  programs: Programs,
  directory: string,
  directives: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  mkdirSync(directory, { recursive: true });
  const [port = 0] = await findFreePorts(1);
  const args = Object.entries({ ...DIRECTIVES, port: String(port), dir: directory, ...directives });
  const { child, ended } = startRecorded(
    host.run,
    `server-${port}`,
    programs.server,
    args.flatMap(([name, value]) => [`--${name}`, value]),
    { stdio: "ignore" },
  );
  const endpoint = { host: "127.0.0.1", port };
  const access = { password: directives["requirepass"] };
  let connection: Connection | undefined;
  await eventually("the server answers", async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with status ${child.exitCode}`);
    connection ??= await connect("server", endpoint, access, 60_000).catch(() => undefined);
    if (connection === undefined) return false;
    const info = await connection.info("persistence").catch(() => "loading:1");
    return /^loading:0/m.test(info);
  });
  if (connection === undefined) throw new Error("there is no connection");
  const open = connection;
  return {
    endpoint,
    access,
    directory,
    connection: open,
    kill: async () => {
      open.disconnect();
      child.kill("SIGKILL");
      await ended;
    },
  };
}

export async function save(server: ServerProcess): Promise<string> {
  await server.connection.save();
  return join(server.directory, "dump.rdb");
}

/** The output of NAME-check-rdb for a file. It exits with an error for a damaged file. */
export async function checkRdb({ server, product }: Programs, file: string): Promise<string> {
  const tree = join(server, "..", "..");
  const script = (await run("cat", [server])).stdout.replaceAll(`${product}-server`, `${product}-check-rdb`);
  const { stdout } = await run("sh", ["-c", script, join(tree, "bin", `${product}-check-rdb`), file]);
  return stdout;
}

/** DEBUG DIGEST-VALUE of all keys of a database, by the key as latin1. */
export async function digests({ connection }: ServerProcess, database = 0): Promise<Map<string, string>> {
  await connection.select(database);
  const result = new Map<string, string>();
  let cursor = "0";
  do {
    const [next, keys] = await connection.scanBuffer(cursor, "COUNT", 1000);
    cursor = String(next);
    if (keys.length > 0) {
      const values = (await connection.call("DEBUG", ["DIGEST-VALUE", ...keys])) as string[];
      keys.forEach((key, index) => result.set(key.toString("latin1"), values[index] ?? ""));
    }
  } while (cursor !== "0");
  await connection.select(0);
  return result;
}
