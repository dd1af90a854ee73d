/**
 * The data of servers, as their commands say it: a second opinion beside the comparison of RDB files. It uses no code
 * that reads RDB files.
 */
import type { Connection } from "../../../../valkey/connection";
import type { Deployment } from "../../../../valkey/deployment";

/** Facts about each key by its database and name, and the code of the libraries of each server. */
export interface DataByCommands {
  readonly keys: ReadonlyMap<string, string>;
  readonly libraries: readonly (readonly string[])[];
}

const SCANNED = 500;
/** Highest number and length of differences that are reported. */
const [MOST, MOST_LENGTH] = [5, 600];

/**
 * Reads type, DEBUG DIGEST-VALUE, TTL, TTLs of fields, and everything about streams, of every key of every primary.
 * The servers must not change meanwhile.
 */
export async function readByCommands(
  { nodes, connect, mode }: Deployment,
  databases: readonly number[],
): Promise<DataByCommands> {
  const keys = new Map<string, string>();
  const libraries: string[][] = [];
  for (const node of nodes) {
    const connection = await connect(node);
    try {
      for (const database of databases) {
        // A cluster of an older version has one database.
        if (database !== 0 && !(await hasDatabase(connection, database))) continue;
        await connection.select(database);
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

async function hasDatabase(connection: Connection, database: number): Promise<boolean> {
  return connection.select(database).then(
    () => true,
    () => false,
  );
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
