/** Reads RDB files before their keys are copied: finds what the copy needs, and files that cannot be copied. */
import type { RdbKey } from "../rdb/rdb-visitor";
import { foreignSlot, movingSlots } from "../rdb/splitting/split";
import { walkRdb } from "../rdb/walk";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { NamedKey, ReplaySource } from "./key-reader";

export interface WantedKeys {
  readonly databases: readonly number[];
  readonly count: number;
  readonly sourceBytes: readonly number[];
  /** Sizes of the wanted keys of each file and slot, bytes, in the order of the sources. */
  readonly wantedBytes: readonly Float64Array[];
  readonly largest: (NamedKey & { readonly bytes: number }) | undefined;
  readonly libraries: readonly { readonly shard: string; readonly code: Buffer }[];
}

/** Copies nothing. @throws Failure for a file that does not fit its shard, or is from the middle of a slot migration */
export async function scanWanted(
  sources: readonly ReplaySource[],
  isWanted: (key: RdbKey) => boolean,
): Promise<WantedKeys> {
  const databases = new Set<number>();
  const libraries: { shard: string; code: Buffer }[] = [];
  const sourceBytes: number[] = [];
  const wantedBytes: Float64Array[] = [];
  let count = 0;
  let largest: WantedKeys["largest"];
  for (const { name, ranges, open } of sources) {
    const bySlot = new Float64Array(SLOT_COUNT);
    let all = 0;
    let [bytes, before] = [0, 0];
    let current: RdbKey | undefined;
    await walkRdb(open(), {
      functionLibrary: (code) => libraries.push({ shard: name, code: Buffer.from(code) }),
      slotImport: (moving) => {
        throw movingSlots(name, moving);
      },
      key: (key) => {
        [bytes, before] = [0, key.valueOffset - key.offset];
        current = isWanted(key) ? key : undefined;
        if (current === undefined) return;
        const { slot } = key;
        if (!ranges.some(({ from, to }) => from <= slot && slot <= to)) throw foreignSlot(name, slot);
        databases.add(key.database);
        count++;
      },
      keyBytes: (_, from, to) => {
        bytes += to - from;
      },
      keyEnd: () => {
        all += bytes;
        if (current === undefined) return;
        const { slot, database, key } = current;
        bySlot[slot] = (bySlot[slot] ?? 0) + bytes;
        if (bytes - before > (largest?.bytes ?? -1))
          largest = { database, key: Buffer.from(key), bytes: bytes - before };
      },
    });
    sourceBytes.push(all);
    wantedBytes.push(bySlot);
  }
  return {
    databases: [...databases].sort((a, b) => a - b),
    count,
    sourceBytes,
    wantedBytes,
    largest,
    libraries,
  };
}
