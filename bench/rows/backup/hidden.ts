/** Restored deployments and archives with one change hidden in each, which the project must find and name. */
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../../lib/errors";
import type { ServerComparison } from "../../../backup/restoring/compare-servers";
import type { StagedShard } from "../../../backup/restoring/staging";
import { type Restore, readCatalog } from "../../../backup/archive/catalog";
import { DirectoryStore } from "../../../backup/archive/store";
import { form } from "../../../valkey/formation/form";
import { writeDataSet } from "../../../tests/support/valkey/data-set";
import { type Benchmark, type BenchmarkContext, type Workbench, hostPlan } from "../../workbench";
import { atLeast, singleRow } from "../../row";
import { RunningArchive, restoreInto, restoreOf, Routes, stage } from "./archives";
import type { Connection } from "../../../valkey/connection";

const ID = "backup-hidden";
const SHAPE = { primaries: 1, replicasPerPrimary: 0 };
const SHARDS = 3;
const KEYS = 300;

export const backupHidden: Benchmark = {
  title: "Changes that are hidden in restored servers and in files of archives",
  ids: [ID],
  run: async (context) => {
    const { workbench } = context;
    const plan = hostPlan("hidden", "replication", SHAPE, { "repl-diskless-sync-delay": 0 });
    await workbench.withDeployment(plan, async ({ host, deployment: source, signal }) => {
      await form(source, SHAPE, { signal });
      const [node] = source.nodes;
      if (node === undefined) throw new Error("there is no node");
      const connection = await source.connect(node);
      const folder = join(host.run.path, "archive");
      const store = new DirectoryStore(folder);
      const archive = await RunningArchive.start(store, source, join(host.run.path, "spool"), signal);
      await archive.caughtUp(signal);
      await writeDataSet(connection, 77, KEYS);
      await connection.select(0);
      await writeChangedKeys(connection);
      connection.disconnect();
      await archive.caughtUp(signal);
      await archive.stop();
      const restore = await restoreOf(store);
      const staged = await stage(host, restore, signal);
      const found = [
        ...(await findInServers(workbench, restore, staged, context)),
        ...(await findInFiles(workbench, folder, context)),
      ];
      const [unchanged, ...changed] = found;
      const count = changed.filter(Boolean).length;
      const what =
        `one change hidden in each of ${changed.length} restored deployments and archives (${CHANGES.length} in ` +
        `servers, ${FILE_CHANGES.length} in files): those that are found and named, and without a change, nothing is ` +
        `found${unchanged === true ? "" : " (this is not so)"}`;
      context.emit(singleRow({ id: ID, what, unit: "sets" }, unchanged === true ? count : 0, atLeast(changed.length)));
    });
  },
};

type Report = Pick<BenchmarkContext, "report">;

async function findInServers(
  workbench: Workbench,
  restore: Restore,
  staged: readonly StagedShard[],
  { report }: Report,
): Promise<boolean[]> {
  const found: boolean[] = [];
  for (const change of [UNCHANGED, ...CHANGES]) {
    const names = await compareChanged(workbench, restore, staged, change);
    const isNamed = names.join() === change.named.toSorted().join();
    report(`${change.what}: ${isNamed ? "named" : `not named, but: ${names.join(", ")}`}`);
    found.push(isNamed);
  }
  return found;
}

/** Restores, changes one thing, and compares. @returns what the comparison names, in the order of the texts */
function compareChanged(
  workbench: Workbench,
  restore: Restore,
  staged: readonly StagedShard[],
  { apply }: Change,
): Promise<string[]> {
  const restoreChanged = workbench.withServers([], async ({ host, signal }) => {
    const { deployment, compare } = await restoreInto(host, restore, SHARDS, signal, staged);
    await Routes.use(deployment, (routes) => apply(routes.to("{tag}"), routes.to("{tag}", 1)));
    return (await compare()).flatMap(namesOf).sort();
  });
  return restoreChanged.catch((error: unknown) => {
    workbench.signal.throwIfAborted();
    return [`an error: ${messageOf(error)}`];
  });
}

function namesOf({ comparison: { first, libraries, isEqual } }: ServerComparison): string[] {
  const names = [...first.map(({ key, kind }) => `${key.toString()}: ${kind}`), ...libraries];
  return isEqual && names.length > 0 ? ["equal, although there are differences"] : names;
}

interface FileChange {
  readonly what: string;
  readonly says: RegExp;
  readonly file: keyof ReturnType<typeof filesOf>;
  readonly change: (file: string) => void;
}

const FILE_CHANGES: readonly FileChange[] = [
  { what: "a byte in the middle of the base", says: /base\.rdb is damaged/, file: "base", change: flip },
  {
    ...{ what: "a byte of the last increment", says: /\.aof is damaged|increment.* is damaged/ },
    ...{ file: "increment", change: flip },
  },
  { what: "a missing increment", says: /is missing/, file: "increment", change: rmSync },
  { what: "a manifest that is cut off", says: /manifest|json/i, file: "manifest", change: cutOff },
];

function cutOff(file: string): void {
  writeFileSync(file, readFileSync(file).subarray(0, 40));
}

function flip(file: string): void {
  const bytes = readFileSync(file);
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

async function findInFiles(workbench: Workbench, folder: string, { report }: Report): Promise<boolean[]> {
  const found: boolean[] = [];
  for (const [index, { what, says, file, change }] of FILE_CHANGES.entries()) {
    const copy = `${folder}-${index}`;
    cpSync(folder, copy, { recursive: true });
    change(filesOf(copy)[file]);
    const said = await restoreDamaged(workbench, copy);
    report(`${what}: ${said ?? "nothing found"}`);
    found.push(said !== undefined && says.test(said));
  }
  return found;
}

/** Restores an archive with a changed file. @returns what the project says about it; undefined if it finds nothing */
async function restoreDamaged(workbench: Workbench, folder: string): Promise<string | undefined> {
  const store = new DirectoryStore(folder);
  const { damaged } = await readCatalog(store);
  if (damaged.length > 0) return damaged.map(({ text }) => text).join("; ");
  try {
    const restore = await restoreOf(store);
    return await workbench.withServers([], async ({ host, signal }) => {
      const compared = await (await restoreInto(host, restore, SHARDS, signal)).compare();
      const names = compared.flatMap(namesOf);
      return names.length === 0 ? undefined : names.join("; ");
    });
  } catch (error) {
    workbench.signal.throwIfAborted();
    return messageOf(error);
  }
}

/** Files of the only set of an archive: its base, the manifest of the base, and the last increment. */
function filesOf(folder: string): Readonly<Record<"base" | "manifest" | "increment", string>> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((each) => join(folder, each));
  const base = files.find((each) => each.endsWith("base.rdb"));
  const increment = files
    .filter((each) => each.endsWith(".aof"))
    .sort()
    .at(-1);
  if (base === undefined || increment === undefined) throw new Error(`${folder} lacks files: ${files.join()}`);
  return { base, manifest: base.replace(/rdb$/, "json"), increment };
}

const FAR = Date.now() + 10 ** 9;
const LIBRARY = "#!lua name=changed\nredis.register_function('one', function() return 1 end)";

/** Keys that the changes change. All are in one slot. */
async function writeChangedKeys(connection: Connection): Promise<void> {
  const call = (command: string, ...args: (string | number)[]): Promise<unknown> => connection.call(command, args);
  await call("SET", "{tag}bytes", "value");
  await call("SET", "{tag}number", 41);
  await call("SET", "{tag}ttl", 1, "PXAT", FAR);
  await call("RPUSH", "{tag}list", "a", "b", "c");
  await call("SADD", "{tag}set", "a", "b");
  await call("SADD", "{tag}numbers", 1, 2, 3);
  await call("ZADD", "{tag}scores", 0.1, "a", 5, "b");
  await call("HSET", "{tag}hash", "a", "1", "b", "2");
  await call("HSET", "{tag}fields", "a", "1", "b", "2");
  await call("HPEXPIREAT", "{tag}fields", FAR, "FIELDS", 1, "b");
  for (const id of ["1-0", "2-0", "3-0"]) await call("XADD", "{tag}stream", id, "field", id);
  await call("XGROUP", "CREATE", "{tag}stream", "group", 0);
  await call("XREADGROUP", "GROUP", "group", "consumer", "COUNT", 2, "STREAMS", "{tag}stream", ">");
  await call("FUNCTION", "LOAD", LIBRARY);
}

interface Change {
  readonly what: string;
  /** Names that the comparison must give: keys with the kind of difference, and first lines of libraries. */
  readonly named: readonly string[];
  /** @param own connection to the server that owns the keys @param other to a server that does not */
  readonly apply: (own: Connection, other: Connection) => Promise<unknown>;
}

type Command = readonly [command: string, ...args: (string | number)[]];

function onOwner(what: string, named: readonly string[], ...commands: Command[]): Change {
  return {
    what,
    named,
    apply: async (own) => {
      for (const [command, ...args] of commands) await own.call(command, args);
    },
  };
}

const value = (key: string): string[] => [`{tag}${key}: different value`];
const ttl = (key: string): string[] => [`{tag}${key}: different TTL`];
const AFTER_A_TENTH = "0.10000000000000002";

const UNCHANGED: Change = { what: "no change", named: [], apply: () => Promise.resolve() };
export const CHANGES: readonly Change[] = [
  onOwner("a byte of a string", value("bytes"), ["SETRANGE", "{tag}bytes", 2, "L"]),
  onOwner("a byte after a string", value("bytes"), ["APPEND", "{tag}bytes", "\0"]),
  onOwner("a number", value("number"), ["INCR", "{tag}number"]),
  onOwner("a missing key", ["{tag}number: missing"], ["DEL", "{tag}number"]),
  onOwner("a new key", ["{tag}new: unexpected"], ["SET", "{tag}new", 1]),
  onOwner(
    "the name of a key",
    ["{tag}bytes: missing", "{tag}bytez: unexpected"],
    ["RENAME", "{tag}bytes", "{tag}bytez"],
  ),
  onOwner("a TTL, 1 ms later", ttl("ttl"), ["PEXPIREAT", "{tag}ttl", FAR + 1]),
  onOwner("a TTL, 1 ms earlier", ttl("ttl"), ["PEXPIREAT", "{tag}ttl", FAR - 1]),
  onOwner("a missing TTL", ttl("ttl"), ["PERSIST", "{tag}ttl"]),
  onOwner("a new TTL", ttl("list"), ["PEXPIREAT", "{tag}list", FAR]),
  onOwner("a field's TTL, 1 ms later", value("fields"), ["HPEXPIREAT", "{tag}fields", FAR + 1, "FIELDS", 1, "b"]),
  onOwner("a field's missing TTL", value("fields"), ["HPERSIST", "{tag}fields", "FIELDS", 1, "b"]),
  onOwner("a field's new TTL", value("hash"), ["HPEXPIREAT", "{tag}hash", FAR, "FIELDS", 1, "a"]),
  onOwner("a field's value", value("hash"), ["HSET", "{tag}hash", "b", "3"]),
  onOwner("a missing field", value("hash"), ["HDEL", "{tag}hash", "a"]),
  onOwner("the order of a list", value("list"), ["LSET", "{tag}list", 0, "b"], ["LSET", "{tag}list", 1, "a"]),
  onOwner("a missing element of a list", value("list"), ["RPOP", "{tag}list"]),
  onOwner("a member of a set", value("set"), ["SREM", "{tag}set", "a"], ["SADD", "{tag}set", "A"]),
  onOwner("a missing number of a set", value("numbers"), ["SREM", "{tag}numbers", 3]),
  onOwner("the last bit of a score", value("scores"), ["ZADD", "{tag}scores", AFTER_A_TENTH, "a"]),
  onOwner("the type of a key", value("set"), ["DEL", "{tag}set"], ["RPUSH", "{tag}set", "a", "b"]),
  onOwner("a missing entry of a stream", value("stream"), ["XDEL", "{tag}stream", "3-0"]),
  onOwner("the last ID of a stream", value("stream"), ["XSETID", "{tag}stream", "3-1"]),
  onOwner("an acknowledged entry of a group", value("stream"), ["XACK", "{tag}stream", "group", "1-0"]),
  onOwner("the last ID of a group", value("stream"), ["XGROUP", "SETID", "{tag}stream", "group", "1-0"]),
  onOwner("a missing group", value("stream"), ["XGROUP", "DESTROY", "{tag}stream", "group"]),
  {
    what: "a library of functions on one server",
    named: ["#!lua name=changed"],
    apply: (_own, other) => other.call("FUNCTION", ["DELETE", "changed"]),
  },
  {
    what: "a byte of a library",
    named: ["#!lua name=changed", "#!lua name=changed"],
    apply: (own) => own.call("FUNCTION", ["LOAD", "REPLACE", LIBRARY.replace("return 1", "return 2")]),
  },
];
