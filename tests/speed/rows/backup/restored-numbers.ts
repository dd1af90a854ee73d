/** Reads the keys of write clients from restored servers. */
import calculateSlot from "cluster-key-slot";
import type { KeyContent } from "../../../../faults/writes/accounting";
import { writeNumberOf } from "../../../../faults/writes/numbered-values";
import type { RestoreShape } from "../../../../valkey/restoring/restore-shape";
import type { Deployment } from "../../../../valkey/deployment";

const BATCH = 1_000;

/** Reads keys from the primaries that own their slots. @returns the content of each key, by the name of the key */
export async function readNumbers(
  { nodes, connect }: Deployment,
  { shards }: RestoreShape,
  keys: readonly string[],
): Promise<Map<string, KeyContent>> {
  const owners = keys.map((key) => {
    const slot = calculateSlot(key);
    return shards.findIndex((ranges) => ranges.some(({ from, to }) => from <= slot && slot <= to));
  });
  const contents = new Map<string, KeyContent>();
  for (const [index, node] of nodes.entries()) {
    const own = keys.filter((_, place) => owners[place] === index);
    const connection = await connect(node);
    try {
      for (let begin = 0; begin < own.length; begin += BATCH) {
        const some = own.slice(begin, begin + BATCH);
        const pipeline = connection.pipeline();
        for (const key of some) pipeline.get(key);
        for (const [place, [error, value]] of ((await pipeline.exec()) ?? []).entries())
          contents.set(some[place] ?? "", contentOf(some[place] ?? "", error, value as string | null));
      }
    } finally {
      connection.disconnect();
    }
  }
  return contents;
}

function contentOf(key: string, error: Error | null, value: string | null): KeyContent {
  if (error !== null) return { kind: "unread", reason: error.message };
  if (value === null) return { kind: "gone" };
  const number = writeNumberOf(key, value);
  return number === undefined ? { kind: "damaged" } : { kind: "number", number };
}
