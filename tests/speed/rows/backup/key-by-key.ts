/** Copies the keys of a cluster into a different cluster by DUMP and RESTORE, as scripts and tools do. */
import calculateSlot from "cluster-key-slot";
import type { Connection } from "../../../../valkey/connection";
import type { Deployment } from "../../../../valkey/deployment";
import { verify } from "../../../../valkey/verification/verify";
import { numbers } from "../../../support/valkey/data-set";

const BATCH = 1_000;
const FAR_MS = 10 ** 9;

/** Connections to the primaries of a cluster, by slot. */
class Routes {
  private constructor(
    readonly connections: readonly Connection[],
    private readonly ownerOf: Uint16Array,
  ) {}

  static async open(deployment: Deployment): Promise<Routes> {
    const { shards } = (await verify(deployment)).verdict;
    const ownerOf = new Uint16Array(16_384);
    const connections: Connection[] = [];
    for (const [index, { primary, slots }] of shards.entries()) {
      const node = deployment.nodes.find(({ name }) => name === primary);
      if (node === undefined) throw new Error(`shard ${index} has no primary`);
      connections.push(await deployment.connect(node));
      for (const { from, to } of slots) ownerOf.fill(index, from, to + 1);
    }
    return new Routes(connections, ownerOf);
  }

  index(key: string | Buffer): number {
    return this.ownerOf[calculateSlot(key)] ?? 0;
  }

  close(): void {
    for (const connection of this.connections) connection.disconnect();
  }
}

/** Writes keys of several types: most are strings of 100 bytes, and one in five has a TTL. */
export async function fillMixed(deployment: Deployment, count: number): Promise<void> {
  const routes = await Routes.open(deployment);
  const random = numbers(5);
  // A text that the server cannot compress well.
  const text = (length: number): string => {
    let result = "";
    while (result.length < length) result += random().toString(36).slice(2);
    return result.slice(0, length);
  };
  try {
    for (let begin = 0; begin < count; begin += BATCH) {
      const pipelines = routes.connections.map((each) => each.pipeline());
      for (let index = begin; index < Math.min(begin + BATCH, count); index++) {
        const key = `key:${index}`;
        const pipeline = pipelines[routes.index(key)];
        const lot = random();
        if (lot < 0.7) pipeline?.set(key, text(100));
        else if (lot < 0.8) pipeline?.hset(key, Object.fromEntries(range(10).map((each) => [`f${each}`, text(20)])));
        else if (lot < 0.9) pipeline?.rpush(key, ...range(10).map(() => text(20)));
        else if (lot < 0.95) pipeline?.sadd(key, ...range(10).map(() => text(12)));
        else pipeline?.zadd(key, ...range(10).flatMap((each) => [each, text(12)]));
        if (random() < 0.2) pipeline?.pexpire(key, FAR_MS);
      }
      await Promise.all(pipelines.map((each) => each.exec()));
    }
  } finally {
    routes.close();
  }
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/**
 * Copies keys until there are so many.
 * @param batch keys in one round trip
 */
export async function copyKeys(source: Deployment, target: Deployment, count: number, batch: number): Promise<void> {
  const [from, to] = [await Routes.open(source), await Routes.open(target)];
  let left = count;
  try {
    for (const connection of from.connections) {
      let cursor = "0";
      do {
        const [next, keys] = await connection.scanBuffer(cursor, "COUNT", BATCH);
        cursor = String(next);
        for (let begin = 0; begin < keys.length && left > 0; begin += batch) {
          const some = keys.slice(begin, begin + Math.min(batch, left));
          await (batch === 1 ? copyOne(connection, some[0] ?? Buffer.alloc(0), to) : copyBatch(connection, some, to));
          left -= some.length;
        }
      } while (cursor !== "0" && left > 0);
    }
  } finally {
    from.close();
    to.close();
  }
}

/** Copies one key: each of the three commands waits for the one before. */
async function copyOne(source: Connection, key: Buffer, target: Routes): Promise<void> {
  const value = await source.dumpBuffer(key);
  const ttl = await source.pttl(key);
  await target.connections[target.index(key)]?.restore(key, Math.max(ttl, 0), value, "REPLACE");
}

/** Copies several keys: all their DUMP and PTTL are sent at once, and then all their RESTORE. */
async function copyBatch(source: Connection, keys: readonly Buffer[], target: Routes): Promise<void> {
  const asked = source.pipeline();
  for (const key of keys) {
    asked.dumpBuffer(key);
    asked.pttl(key);
  }
  const replies = (await asked.exec()) ?? [];
  const pipelines = target.connections.map((each) => each.pipeline());
  const used = new Set<number>();
  for (const [index, key] of keys.entries()) {
    const owner = target.index(key);
    const value = replies[2 * index]?.[1] as Buffer;
    const ttl = replies[2 * index + 1]?.[1] as number;
    pipelines[owner]?.restore(key, Math.max(ttl, 0), value, "REPLACE");
    used.add(owner);
  }
  await Promise.all(pipelines.filter((_, index) => used.has(index)).map((each) => each.exec()));
}

export async function countKeys(deployment: Deployment): Promise<number> {
  const routes = await Routes.open(deployment);
  try {
    const sizes = await Promise.all(routes.connections.map((each) => each.dbsize()));
    return sizes.reduce((sum, each) => sum + each, 0);
  } finally {
    routes.close();
  }
}
