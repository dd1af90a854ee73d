/** Changes of restored data. A comparison must find and name each of them. */
import calculateSlot from "cluster-key-slot";
import type { Connection } from "../../../../valkey/connection";
import type { Deployment } from "../../../../valkey/deployment";
import type { RestoreShape } from "../../../../valkey/restoring/restore-shape";

/** A time at which keys expire, long after the benchmark. */
const FAR = Date.now() + 10 ** 9;
const LIBRARY = "#!lua name=changed\nredis.register_function('one', function() return 1 end)";

/** Keys that the changes change. All are in one slot. */
export async function writeChangedKeys(connection: Connection): Promise<void> {
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

export interface Change {
  readonly what: string;
  /** Names that the comparison must give: keys with the kind of difference, and first lines of libraries. */
  readonly named: readonly string[];
  readonly apply: (servers: ChangedServers) => Promise<unknown>;
}

/** The server that owns the keys, and a server that does not. */
interface ChangedServers {
  readonly own: Connection;
  readonly other: Connection;
}

type Command = readonly [command: string, ...args: (string | number)[]];

function onOwner(what: string, named: readonly string[], ...commands: Command[]): Change {
  return {
    what,
    named,
    apply: async ({ own }) => {
      for (const [command, ...args] of commands) await own.call(command, args);
    },
  };
}

const value = (key: string): string[] => [`{tag}${key}: different value`];
const ttl = (key: string): string[] => [`{tag}${key}: different TTL`];
/** The next number that a double can have. */
const AFTER_A_TENTH = "0.10000000000000002";

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
    apply: ({ other }) => other.call("FUNCTION", ["DELETE", "changed"]),
  },
  {
    what: "a byte of a library",
    named: ["#!lua name=changed", "#!lua name=changed"],
    apply: ({ own }) => own.call("FUNCTION", ["LOAD", "REPLACE", LIBRARY.replace("return 1", "return 2")]),
  },
];

/** The servers of a restored deployment that own the changed keys, and do not. */
export async function withChangedServers<T>(
  { nodes, connect }: Deployment,
  { shards }: RestoreShape,
  use: (servers: ChangedServers) => Promise<T>,
): Promise<T> {
  const slot = calculateSlot("tag");
  const owner = shards.findIndex((ranges) => ranges.some(({ from, to }) => from <= slot && slot <= to));
  const [own, other] = [nodes[owner], nodes[(owner + 1) % nodes.length]];
  if (own === undefined || other === undefined) throw new Error("the slot has no owner");
  const connections = { own: await connect(own), other: await connect(other) };
  try {
    return await use(connections);
  } finally {
    connections.own.disconnect();
    connections.other.disconnect();
  }
}
