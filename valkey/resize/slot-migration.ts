/** Slots are migrated atomically if both servers support it, otherwise key by key, while clients use them. */
import { compact } from "../../lib/compact";
import { groupBy } from "../../lib/group-by";
import { hasPrimaryRole, parseInfo } from "../topology/replies";
import { type SlotRange, countSlots } from "../topology/slots";
import { isTaken, migrateAtomically, supportsAtomicMigration } from "./atomic-migration";
import { migrateKeyByKey } from "./key-migration";
import type { MigrationContext, SlotMigration } from "./migration-context";
import type { SlotTransfer } from "./slot-transfers";

/** Bytes of keys. A failed migration starts again, and the source buffers writes in its memory during a migration. */
const MAX_MIGRATION_BYTES = 512 * 1024 ** 2;
const PORTION_DIVISOR = 4;
/** Number of slots. Fewer would not be faster, because each migration takes some tenths of a second. */
const SMALLEST_PORTION = 16;

/**
 * @param keyBytes returns at least the memory of a source's keys, bytes
 * @returns sentences about migrations that ended because a server is no longer a primary, whose slots have not moved
 * @throws Failure when a server refuses
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
  const setbacks = await untilAllEnd(context, [...groupBy(atomic, ({ from }) => from)], ([source, own], stoppable) => {
    const slots = countSlots(own.flatMap(({ ranges }) => ranges));
    const portion = Math.floor((slots * MAX_MIGRATION_BYTES) / Math.max(1, keyBytes(source)));
    return migrateInPortions(own, Math.max(1, portion), stoppable, onMigrated);
  });
  const others = transfers.filter((transfer) => !atomic.includes(transfer));
  await migrateKeyByKey(others.flatMap(migrationsOf), context, onMigrated);
  return compact(setbacks);
}

/** If one call fails, the others stop after their current step. @throws the first failure, when all have ended */
async function untilAllEnd<S, T>(
  context: MigrationContext,
  sources: readonly S[],
  migrate: (source: S, context: MigrationContext) => Promise<T>,
): Promise<T[]> {
  const stop = new AbortController();
  const signal = AbortSignal.any(compact([stop.signal, context.signal]));
  const running = sources.map(async (source) => {
    try {
      return await migrate(source, { ...context, signal });
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(running);
  stop.signal.throwIfAborted();
  return Promise.all(running);
}

/**
 * After each failure the portions become smaller, and at last slots move key by key. With I/O threads, migrations in
 * Valkey 9.0.5 to 9.1.1 fail at about 30,000 writes per second to the slots (valkey issue 4545), and smaller portions
 * get fewer.
 * @returns the reason if the rest must be planned again
 */
async function migrateInPortions(
  transfers: readonly SlotTransfer[],
  largest: number,
  context: MigrationContext,
  onMigrated: (slots: number) => void,
): Promise<string | undefined> {
  let portion = largest;
  let rest = splitTransfers(transfers, portion);
  for (let [next] = rest; next !== undefined; [next] = rest) {
    context.signal?.throwIfAborted();
    const { from, to, ranges } = next;
    const setback = await migrateAtomically(next, context);
    const words = `from ${from} to ${to}: ${setback?.words ?? ""}`;
    if (setback !== undefined && !(await arePrimaries([from, to], context))) return words;
    if (setback === undefined || (await isTaken(next, setback, context))) {
      onMigrated(countSlots(ranges));
      rest = rest.slice(1);
      continue;
    }
    const failed = Math.min(portion, countSlots(ranges));
    if (failed <= SMALLEST_PORTION) {
      context.report?.(`slots are now migrated key by key, because atomic migration failed (${words})`);
      await migrateKeyByKey(rest.flatMap(migrationsOf), context, onMigrated, { yields: true });
      return undefined;
    }
    portion = Math.max(SMALLEST_PORTION, Math.floor(failed / PORTION_DIVISOR));
    context.report?.(`atomic migration continues with ${portion} slots at a time (${words})`);
    rest = splitTransfers(rest, portion);
  }
  return undefined;
}

/** If the result is false, a failover has changed the roles and has caused the migration to fail. */
async function arePrimaries(names: readonly string[], context: MigrationContext): Promise<boolean> {
  const roles = names.map(async (name) => {
    const info = parseInfo(await context.member(name).connection.info("replication"));
    return hasPrimaryRole(info);
  });
  return (await Promise.allSettled(roles)).every((role) => role.status === "fulfilled" && role.value);
}

async function atomicTransfers(transfers: readonly SlotTransfer[], context: MigrationContext): Promise<SlotTransfer[]> {
  const names = [...new Set(transfers.flatMap(({ from, to }) => [from, to]))];
  const supported = await Promise.all(names.map((name) => supportsAtomicMigration(context.member(name).connection)));
  const able = new Set(names.filter((_name, index) => supported[index] === true));
  return transfers.filter(({ from, to }) => able.has(from) && able.has(to));
}

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
