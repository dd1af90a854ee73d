/** Migrates slots between primaries while clients use them: atomically where both servers can, else key by key. */
import type { SlotRange } from "../topology/slots";
import { countSlots } from "../topology/slots";
import { migrateAtomically, supportsAtomicMigration } from "./atomic-migration";
import { migrateKeyByKey } from "./key-migration";
import type { MigrationContext, SlotMigration } from "./migration-context";
import type { SlotTransfer } from "./slot-transfers";

/**
 * The largest atomic migration, in bytes of keys. A migration that fails starts from its beginning, and writes during
 * it are buffered in the source's memory.
 */
const MAX_MIGRATION_BYTES = 512 * 1024 ** 2;

/**
 * Carries out transfers, those of different sources in parallel.
 * @param keyBytes the memory that a source's keys take
 * @returns the atomic migrations that servers cancelled, in words; their slots are where they were
 */
export async function migrateSlots(
  transfers: readonly SlotTransfer[],
  keyBytes: (source: string) => number,
  context: MigrationContext,
): Promise<string[]> {
  const total = countSlots(transfers.flatMap(({ ranges }) => ranges));
  let done = 0;
  const onMigrated = (slots: number): void => {
    done += slots;
    context.report?.(`migrated ${done} of ${total} slots`, true);
  };
  const atomic = await atomicTransfers(transfers, context);
  const sources = [...new Set(atomic.map(({ from }) => from))];
  const setbacks = await Promise.all(
    sources.map((source) => {
      const own = atomic.filter(({ from }) => from === source);
      const slots = countSlots(own.flatMap(({ ranges }) => ranges));
      const slotsPerMigration = Math.floor((slots * MAX_MIGRATION_BYTES) / Math.max(1, keyBytes(source)));
      return migrateAtomically(source, splitTransfers(own, Math.max(1, slotsPerMigration)), context, onMigrated);
    }),
  );
  const others = transfers.filter((transfer) => !atomic.includes(transfer));
  await migrateKeyByKey(others.flatMap(migrationsOf), context, onMigrated);
  return setbacks.flat();
}

/** The transfers of which both ends support atomic migration. */
async function atomicTransfers(transfers: readonly SlotTransfer[], context: MigrationContext): Promise<SlotTransfer[]> {
  const names = [...new Set(transfers.flatMap(({ from, to }) => [from, to]))];
  const supported = await Promise.all(names.map((name) => supportsAtomicMigration(context.member(name).connection)));
  const able = new Set(names.filter((_name, index) => supported[index] === true));
  return transfers.filter(({ from, to }) => able.has(from) && able.has(to));
}

/** The same transfers in parts of at most so many slots. */
function splitTransfers(transfers: readonly SlotTransfer[], maxSlots: number): SlotTransfer[] {
  return transfers.flatMap(({ from, to, ranges }) =>
    splitRanges(ranges, maxSlots).map((part) => ({ from, to, ranges: part })),
  );
}

function splitRanges(ranges: readonly SlotRange[], maxSlots: number): SlotRange[][] {
  const parts: SlotRange[][] = [[]];
  let room = maxSlots;
  for (const range of ranges) {
    let start = range.from;
    while (start <= range.to) {
      const end = Math.min(range.to, start + room - 1);
      parts.at(-1)?.push({ from: start, to: end });
      room -= end - start + 1;
      start = end + 1;
      if (room > 0) continue;
      parts.push([]);
      room = maxSlots;
    }
  }
  return parts.filter((part) => part.length > 0);
}

function migrationsOf({ from, to, ranges }: SlotTransfer): SlotMigration[] {
  const slots = ranges.flatMap((range) =>
    Array.from({ length: countSlots([range]) }, (_, index) => range.from + index),
  );
  return slots.map((slot) => ({ slot, from, to }));
}
