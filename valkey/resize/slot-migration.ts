import type { SlotTransfer } from "./slot-transfers";
import type { SlotRange } from "../topology/slots";
import { countSlots } from "../topology/slots";
import { migrateAtomically, supportsAtomicMigration } from "./atomic-migration";
import type { SlotMigration } from "./key-migration";
import { migrateKeyByKey } from "./key-migration";
import type { MigrationContext } from "./migration-context";

/** Bytes of keys that one atomic migration should not exceed: a failed one begins anew, and writes meanwhile wait in its source's memory. */
const JOB_BYTES = 512 * 1024 ** 2;

/**
 * Carries out transfers, those from different sources at the same time.
 * @param keyBytes what the keys of a source take
 * @returns what went wrong with atomic migrations, after which the slots are where they were
 */
export async function migrateSlots(
  transfers: readonly SlotTransfer[],
  keyBytes: (source: string) => number,
  moving: MigrationContext,
): Promise<string[]> {
  const total = countSlots(transfers.flatMap(({ ranges }) => ranges));
  let done = 0;
  const moved = (slots: number): void => {
    done += slots;
    moving.report?.(`${done} of ${total} slots moved`, true);
  };
  const names = [...new Set(transfers.flatMap(({ from, to }) => [from, to]))];
  const able = new Map(
    await Promise.all(
      names.map(async (name) => [name, await supportsAtomicMigration(moving.member(name).connection)] as const),
    ),
  );
  const atomic = transfers.filter(({ from, to }) => able.get(from) === true && able.get(to) === true);
  const sources = [...new Set(atomic.map(({ from }) => from))];
  const setbacks = await Promise.all(
    sources.map(async (source) => {
      const own = atomic.filter(({ from }) => from === source);
      const all = countSlots(own.flatMap(({ ranges }) => ranges));
      return migrateAtomically(
        source,
        chunk(own, Math.max(1, Math.floor((all * JOB_BYTES) / Math.max(1, keyBytes(source))))),
        moving,
        moved,
      );
    }),
  );
  const rest = transfers.filter((transfer) => !atomic.includes(transfer));
  await migrateKeyByKey(
    rest.flatMap(({ from, to, ranges }) => slotsOf(ranges).map((slot): SlotMigration => ({ slot, from, to }))),
    moving,
    moved,
  );
  return setbacks.flat();
}

/** Transfers in portions of so many slots. */
function chunk(transfers: readonly SlotTransfer[], slots: number): SlotTransfer[] {
  return transfers.flatMap(({ from, to, ranges }) => {
    const portions: SlotRange[][] = [[]];
    let room = slots;
    for (const range of ranges) {
      for (let start = range.from; start <= range.to;) {
        const end = Math.min(range.to, start + room - 1);
        portions.at(-1)?.push({ from: start, to: end });
        room -= end - start + 1;
        start = end + 1;
        if (room > 0) continue;
        portions.push([]);
        room = slots;
      }
    }
    return portions.filter((portion) => portion.length > 0).map((portion) => ({ from, to, ranges: portion }));
  });
}

function slotsOf(ranges: readonly SlotRange[]): number[] {
  return ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}
