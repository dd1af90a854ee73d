/** `node --import tsx scripts/directives.ts DIRECTORY…`: writes known-directives.json. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { BadInput, messageOf } from "../lib/errors";
import { ROOT } from "../lib/system/package";
import { inspectPrograms } from "../platforms/host/programs/programs";
import { parseFlatReply } from "../valkey/topology/replies";
import type { AcceptedValue, KnownDirective } from "../valkey/settings/settings-problems";
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

/** No directive with a number, a size or a list of words accepts it. */
const NOT_A_VALUE = "\u0001";
const LEAST_NUMBER = "-9223372036854775808";
/** A server that accepts the value before it ends here. */
const NO_DIRECTIVE = ["--no-such-directive", "1"];

type Refuse = (name: string, value: string) => Promise<string>;

export async function directivesOf(server: Pick<Redis, "config">): Promise<string[]> {
  const named = await Promise.all([server.config("GET", "*"), server.config("GET", ...HIDDEN_DIRECTIVES)]);
  return named.flatMap((reply) => [...parseFlatReply(reply).keys()]);
}

/** Read from refusals. Undefined for text, and for forms of few directives. */
export async function acceptedValue(name: string, refuse: Refuse): Promise<AcceptedValue | undefined> {
  const why = await refuse(name, NOT_A_VALUE);
  if (/must be a memory value/.test(why)) return "size";
  if (/must be 'yes' or 'no'/.test(why)) return ["yes", "no"];
  const words = /must be one of the following: ([^\n]*)/.exec(why)?.[1];
  if (words !== undefined) return words.split(",").map((word) => word.trim());
  if (!/couldn't be parsed into an integer/.test(why)) return undefined;
  const range = /must be between (-?\d+) and (\d+) inclusive/.exec(await refuse(name, LEAST_NUMBER));
  return range === null ? undefined : { least: Number(range[1]), most: Number(range[2]) };
}

/** A server that runs refuses directives that it reads only at its start, so that a new server is asked about those. */
export function refusalsOf(client: Pick<Redis, "config">, program: string): Refuse {
  return async (name, value) => {
    const why = await client.config("SET", name, value).then(String, messageOf);
    if (!/can't set immutable config/.test(why)) return why;
    return spawnSync(program, [`--${name}`, value, ...NO_DIRECTIVE], { encoding: "utf8" }).stderr;
  };
}

async function read(directory: string): Promise<ReadonlyMap<string, KnownDirective>> {
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
    const refuse = refusalsOf(client, programs.server);
    const known = new Map<string, KnownDirective>();
    for (const name of await directivesOf(client))
      known.set(name, { versions: [version], accepts: await acceptedValue(name, refuse) });
    return known;
  } finally {
    client.disconnect();
    server.kill();
    await new Promise((done) => server.once("exit", done));
    rmSync(data, { recursive: true });
  }
}

/** A stack file may not name the version, so the values of both count. */
function merge(a: AcceptedValue | undefined, b: AcceptedValue | undefined): AcceptedValue | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (a === "size" || b === "size") return a === b ? a : undefined;
  if (!("least" in a || "least" in b)) return [...new Set([...a, ...b])];
  if (!("least" in a && "least" in b)) return undefined;
  return { least: Math.min(a.least, b.least), most: Math.max(a.most, b.most) };
}

async function main(directories: readonly string[]): Promise<void> {
  const known = new Map<string, KnownDirective>();
  for (const directory of directories)
    for (const [name, { versions, accepts }] of await read(directory)) {
      const former = known.get(name);
      known.set(
        name,
        former === undefined
          ? { versions, accepts }
          : { versions: [...former.versions, ...versions], accepts: merge(former.accepts, accepts) },
      );
    }
  const lines = [...known]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => `  ${JSON.stringify(name)}: ${JSON.stringify(each).replaceAll(/([,:])/g, "$1 ")}`);
  writeFileSync(join(ROOT, "valkey/settings/known-directives.json"), `{\n${lines.join(",\n")}\n}\n`);
}

if (require.main === module) void main(process.argv.slice(2));
