/** Random data sets that are archived while they are written, and restored into different shapes. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { epochMs } from "../../../lib/clock";
import { Failure, messageOf } from "../../../lib/errors";
import type { Connection } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { type Caller, numbers, writeDataSet } from "../../../tests/support/valkey/data-set";
import { programsOf } from "../../../tests/support/valkey/server-process";
import { type Benchmark, type BenchmarkContext, type DeploymentServers, hostPlan } from "../../workbench";
import { atLeast, singleRow } from "../../row";
import { BucketProcess, RunningArchive, restoreInto, restoreOf, Routes } from "./archives";

const ID = "backup-equal";
const DATA_SETS = 30;
const SHARDS = [1, 3, 4, 6] as const;
const ARCHIVED_VERSIONS = ["Valkey 8.1", "Valkey 9.1"] as const;
/** Keys of a data set: before the archive begins, and while it takes the bases and follows. */
const KEYS = 150;
const COMMON_MS = 2_000;
const DATABASES = [0, 3] as const;

export const backupEqual: Benchmark = {
  title: "Random data sets, archived while they are written and restored into different shapes",
  ids: [ID],
  run: async (context) => {
    const { workbench, report } = context;
    let [equal, keys] = [0, 0];
    await workbench.withServers([], async ({ host }) => {
      const bucket = await BucketProcess.start(join(host.run.path, "s3"));
      try {
        for (const [index, each] of cases().entries()) {
          const found = await restoreOne(index, each, bucket, context).catch((error: unknown) => {
            workbench.signal.throwIfAborted();
            return { keys: 0, differences: [messageOf(error)] };
          });
          keys += found.keys;
          if (found.differences.length === 0) equal++;
          const outcome = found.differences.length === 0 ? `${found.keys} keys equal` : found.differences.join("; ");
          report(`${index + 1}: ${each.version}, ${each.from} → ${each.to} shards: ${outcome}`);
        }
      } finally {
        await bucket.close();
      }
    });
    const what =
      `random data sets of all types (${keys} keys), shards ${SHARDS.join(", ")} × ${SHARDS.join(", ")}, ` +
      `${ARCHIVED_VERSIONS.join(" and ")} → Valkey 9.1, through a bucket: of ${DATA_SETS} those that are equal by the ` +
      "project's comparison and by DEBUG DIGEST-VALUE, PEXPIRETIME, HPEXPIRETIME, XINFO and FUNCTION LIST";
    context.emit(singleRow({ id: ID, what, unit: "sets" }, equal, atLeast(DATA_SETS)));
  },
};

interface Case {
  readonly version: (typeof ARCHIVED_VERSIONS)[number];
  readonly from: number;
  readonly to: number;
}

/** Pairs of shapes in turn: all 16 pairs occur, and each version has each pair once before one has a pair twice. */
export function cases(): Case[] {
  const pairs = SHARDS.flatMap((from) => SHARDS.map((to) => ({ from, to })));
  return Array.from({ length: DATA_SETS }, (_, index) => {
    const version = ARCHIVED_VERSIONS[(index + Math.floor(index / pairs.length)) % ARCHIVED_VERSIONS.length];
    return { ...(pairs[index % pairs.length] ?? { from: 1, to: 1 }), version: version ?? "Valkey 9.1" };
  });
}

interface Found {
  readonly keys: number;
  /** Differences in words. The list is empty if everything is equal. */
  readonly differences: readonly string[];
}

async function restoreOne(
  index: number,
  { version, from, to }: Case,
  bucket: BucketProcess,
  { workbench }: BenchmarkContext,
): Promise<Found> {
  const programs = await programsOf(version);
  if (programs === undefined) throw new Error(`${version} cannot be had here`);
  const isCluster = from > 1;
  const hasDatabases = !isCluster || version === "Valkey 9.1";
  const shape = { primaries: from, replicasPerPrimary: 0 };
  const plan = hostPlan(`set-${index}`, isCluster ? "cluster" : "replication", shape, {
    ...{ "repl-diskless-sync-delay": 0, "enable-debug-command": "local" },
    ...(isCluster && hasDatabases ? { "cluster-databases": 4 } : {}),
  });
  const archived = async ({ host, deployment: source, signal }: DeploymentServers): Promise<Found> => {
    await form(source, shape, { signal });
    const place = await bucket.open(`set-${index}`, signal);
    let writtenAt = Infinity;
    await Routes.use(source, async (routes) => {
      const write = new Writer(routes, index);
      await write.dataSet(1000 + index, KEYS, !hasDatabases);
      const archive = await RunningArchive.start(place, source, join(host.run.path, "spool"), signal);
      try {
        await write.dataSet(2000 + index, KEYS, !hasDatabases);
        await write.changes();
        await archive.caughtUp(signal);
        await write.dataSet(3000 + index, KEYS, !hasDatabases);
        await write.changes();
        writtenAt = epochMs();
        await archive.caughtUp(signal);
        // All shards have instants during this time, so that they have a time in common.
        await sleep(COMMON_MS);
        await archive.caughtUp(signal);
      } finally {
        await archive.stop();
      }
    });
    const wanted = await readByCommands(source, DATABASES);
    return workbench.withServers([], async (target) => {
      const restore = await restoreOf(place);
      const early = writtenAt - Math.min(...restore.shards.map(({ point }) => point.at));
      if (early > 0) throw new Failure(`the last time that can be restored is ${early} ms before the last write`);
      const restored = await restoreInto(target.host, restore, to, target.signal);
      const compared = await restored.compare();
      const found = await readByCommands(restored.deployment, DATABASES);
      const unequal = compared.flatMap(({ server, comparison: { isEqual, differing } }) =>
        isEqual ? [] : [`${server} differs in ${differing} keys`],
      );
      return { keys: wanted.keys.size, differences: [...unequal, ...differencesBetween(wanted, found)] };
    });
  };
  return workbench.withDeployment(plan, archived, programs);
}

/** Writes data sets to a deployment: each command goes to the primary that owns its key. */
class Writer implements Caller {
  readonly #random: () => number;

  constructor(
    private readonly routes: Routes,
    seed: number,
  ) {
    this.#random = numbers(seed);
  }

  async dataSet(seed: number, count: number, isCluster: boolean): Promise<void> {
    const refused = await writeDataSet(this, seed, count, { isCluster });
    if (refused.includes("SET")) throw new Failure("the servers refuse to write keys");
  }

  async changes(): Promise<void> {
    for (const connection of this.routes.connections)
      for (const key of await connection.keysBuffer("*")) {
        const lot = this.#random();
        if (lot < 0.1) await connection.unlink(key);
        else if (lot < 0.2) await connection.pexpireat(key, Date.now() + 10 ** 8 + Math.floor(lot * 10 ** 6));
        else if (lot < 0.25) await connection.persist(key);
        else if (lot < 0.3) {
          const transaction = connection.multi().unlink(key).rpush(key, "a", "b").lset(key, 0, "c");
          await transaction.pexpire(key, 10 ** 8).exec();
        }
      }
  }

  async call(command: string, args: (string | Buffer)[]): Promise<unknown> {
    if (command === "SELECT" || command === "FUNCTION")
      return Promise.all(this.routes.connections.map((each) => each.call(command, args)));
    const place = command === "XGROUP" ? 1 : command === "XREADGROUP" ? args.indexOf("STREAMS") + 1 : 0;
    return this.routes.to(args[place] ?? "").call(command, args);
  }
}

/** Facts about each key by its database and name, and the code of the libraries of each server. */
export interface DataByCommands {
  readonly keys: ReadonlyMap<string, string>;
  readonly libraries: readonly (readonly string[])[];
}

const SCANNED = 500;
const [MOST, MOST_LENGTH] = [5, 600];

/**
 * Reads type, DEBUG DIGEST-VALUE, TTL, TTLs of fields, and everything about streams, of every key of every primary.
 * The servers must not change meanwhile.
 */
async function readByCommands(
  { nodes, connect, mode }: Deployment,
  databases: readonly number[],
): Promise<DataByCommands> {
  const keys = new Map<string, string>();
  const libraries: string[][] = [];
  for (const node of nodes) {
    const connection = await connect(node);
    try {
      for (const database of databases) {
        try {
          await connection.select(database);
        } catch (error) {
          // A cluster of an older version has one database.
          if (database === 0) throw error;
          continue;
        }
        await readDatabase(connection, database, keys);
      }
      libraries.push(await librariesOf(connection));
    } finally {
      connection.disconnect();
    }
    if (mode === "replication") break;
  }
  return { keys, libraries };
}

async function librariesOf(connection: Connection): Promise<string[]> {
  const list = (await connection.call("FUNCTION", ["LIST", "WITHCODE"])) as unknown[][];
  return list.map((library) => JSON.stringify(library)).sort();
}

async function readDatabase(connection: Connection, database: number, found: Map<string, string>): Promise<void> {
  let cursor = "0";
  do {
    const [next, keys] = await connection.scanBuffer(cursor, "COUNT", SCANNED);
    cursor = String(next);
    await Promise.all(
      keys.map(async (key) => found.set(`${database} ${key.toString("hex")}`, await factsOf(connection, key))),
    );
  } while (cursor !== "0");
}

async function factsOf(connection: Connection, key: Buffer): Promise<string> {
  const type = await connection.type(key);
  const [[digest], expiresAt, more] = await Promise.all([
    connection.call("DEBUG", ["DIGEST-VALUE", key]) as Promise<string[]>,
    connection.pexpiretime(key),
    type === "hash" ? fieldTimes(connection, key) : type === "stream" ? streamFacts(connection, key) : "",
  ]);
  return `${type} ${digest} ${expiresAt} ${more}`;
}

/** Fields with a TTL. Servers before 9.0 have none. */
async function fieldTimes(connection: Connection, key: Buffer): Promise<string> {
  const fields = (await connection.callBuffer("HKEYS", [key])) as Buffer[];
  const times = (await connection
    .call("HPEXPIRETIME", [key, "FIELDS", fields.length, ...fields])
    .catch(() => [])) as number[];
  const limited = fields.flatMap((field, index) => {
    const time = times[index] ?? -1;
    return time < 0 ? [] : [`${field.toString("hex")}=${time}`];
  });
  return limited.sort().join();
}

/** Facts that the nodes of a tree and the clocks of consumers do not change. */
const LEFT_OUT = new Set(["radix-tree-keys", "radix-tree-nodes", "seen-time", "active-time"]);

async function streamFacts(connection: Connection, key: Buffer): Promise<string> {
  const info = await connection.callBuffer("XINFO", ["STREAM", key, "FULL", "COUNT", 0]);
  return JSON.stringify(withoutClocks(info));
}

/**
 * The same reply without the pairs that are left out, and with groups and consumers in the order of their texts. A
 * primary does not tell its replicas about a consumer that has read nothing, so consumers without pending entries are
 * left out.
 */
function withoutClocks(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString("latin1");
  if (!Array.isArray(reply)) return reply;
  const items = reply.map(withoutClocks);
  const kept: unknown[] = [];
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (typeof item === "string" && LEFT_OUT.has(item)) index++;
    else kept.push(item);
  }
  const isNamed = kept.length > 0 && kept.every((each) => Array.isArray(each) && each[0] === "name");
  if (!isNamed) return kept;
  return kept
    .filter((each) => !isIdle(each as readonly unknown[]))
    .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}

/** Whether a consumer has no pending entries. Groups are never idle. */
function isIdle(pairs: readonly unknown[]): boolean {
  return !pairs.includes("consumers") && pairs[pairs.indexOf("pel-count") + 1] === 0;
}

/** Differences in words. */
export function differencesBetween(wanted: DataByCommands, found: DataByCommands): string[] {
  const differences: string[] = [];
  for (const [key, facts] of wanted.keys) {
    const other = found.keys.get(key);
    if (other === undefined) differences.push(`${key} is missing`);
    else if (other !== facts) differences.push(`${key}: ${facts} has become ${other}`);
  }
  for (const key of found.keys.keys()) if (!wanted.keys.has(key)) differences.push(`${key} is new`);
  const libraries = [...new Set(wanted.libraries.flat())].sort().join();
  for (const each of found.libraries)
    if (each.join() !== libraries) differences.push(`libraries are ${each.join()}, not ${libraries}`);
  return differences.slice(0, MOST).map((each) => each.slice(0, MOST_LENGTH));
}
