/** `node --import tsx scripts/directives.ts DIRECTORY…`: writes known-directives.json. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { BadInput } from "../lib/errors";
import { ROOT } from "../lib/system/package";
import { inspectPrograms } from "../platforms/host/programs/programs";
import { parseFlatReply } from "../valkey/topology/replies";
import { minorVersion } from "../valkey/settings/version";

/** CONFIG GET prints them only by name. */
const HIDDEN_DIRECTIVES = [
  "aof-disable-auto-gc",
  "cluster-message-gossip-perc",
  "cluster-ping-interval",
  "io-threads-always-active",
  "key-load-delay",
  "loading-process-events-interval-bytes",
  "lua-enable-deprecated-api",
  "lua-enable-insecure-api",
  "min-io-threads-avoid-copy-reply",
  "min-string-size-avoid-copy-reply",
  "min-string-size-avoid-copy-reply-threaded",
  "rdb-key-save-delay",
  "watchdog-period",
] as const;

type KnownDirectives = Record<string, string[]>;

export async function directivesOf(server: Pick<Redis, "config">): Promise<string[]> {
  const named = await Promise.all([server.config("GET", "*"), server.config("GET", ...HIDDEN_DIRECTIVES)]);
  return named.flatMap((reply) => [...parseFlatReply(reply).keys()]);
}

async function read(directory: string): Promise<{ readonly version: string; readonly names: readonly string[] }> {
  const programs = await inspectPrograms(directory, "VALKEY_HOME");
  if (typeof programs === "string") throw BadInput.of(directory, "unusable-directory", programs);
  const version = minorVersion(programs.version);
  if (version === undefined) throw BadInput.of(directory, "not-a-version", `${programs.version} is not a version`);
  const data = mkdtempSync(join(tmpdir(), "directives-"));
  const socket = join(data, "socket");
  const server = spawn(programs.server, ["--port", "0", "--unixsocket", socket, "--dir", data, "--save", ""]);
  const client = new Redis({
    path: socket,
    maxRetriesPerRequest: null,
    retryStrategy: (times) => Math.min(times * 20, 200),
  });
  try {
    client.on("error", () => undefined);
    return { version, names: await directivesOf(client) };
  } finally {
    client.disconnect();
    server.kill();
    await new Promise((done) => server.once("exit", done));
    rmSync(data, { recursive: true });
  }
}

async function main(directories: readonly string[]): Promise<void> {
  const known: KnownDirectives = {};
  for (const directory of directories) {
    const { version, names } = await read(directory);
    for (const name of names) known[name] = [...(known[name] ?? []), version];
  }
  const sorted = Object.entries(known)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, versions]) => `  ${JSON.stringify(name)}: [${versions.map((each) => JSON.stringify(each)).join(", ")}]`,
    );
  writeFileSync(join(ROOT, "valkey/settings/known-directives.json"), `{\n${sorted.join(",\n")}\n}\n`);
}

if (require.main === module) void main(process.argv.slice(2));
