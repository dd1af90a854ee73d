import { groupBy } from "../../lib/group-by";
import { readClusterDatabases } from "../databases";
import { type MemberState, selfEntry } from "../membership/member-state";
import type { OpenSlot } from "../topology/cluster-view";
import { migrateKeyByKey } from "./key-migration";
import type { MigrationContext, SlotMigration } from "./migration-context";
import { heldSlots, setSlots } from "./slot-commands";

interface MarkedSlot {
  readonly slot: number;
  readonly node: string;
}

interface OpenMigrations {
  /** Both the source and the target may have keys of the slot. */
  readonly begun: readonly SlotMigration[];
  /** Migrations that have ended or are impossible. Each mark is listed with its primary. */
  readonly stale: readonly MarkedSlot[];
  readonly reasons: readonly string[];
}

/** One mark is enough, because the other can be lost or not set yet. A replica's mark counts as its primary's. */
export function openMigrations(states: readonly MemberState[]): OpenMigrations {
  const byId = new Map(states.map((state) => [state.view.selfId, state]));
  const primaryOf = (id: string): MemberState | undefined => {
    const state = byId.get(id);
    return byId.get((state === undefined ? undefined : selfEntry(state).primaryId) ?? id);
  };
  const ownerOf = (slot: number): MemberState | undefined =>
    states.find((state) => selfEntry(state).slots.some(({ from, to }) => from <= slot && slot <= to));
  /** Undefined if the migration has ended or is impossible. */
  const targetOf = ({ slot, direction, peerId }: OpenSlot, marking: MemberState): MemberState | undefined => {
    const owner = ownerOf(slot);
    const target = direction === "migrating" ? primaryOf(peerId) : marking;
    const isPossible = target !== owner && (direction === "importing" || marking === owner);
    return isPossible ? target : undefined;
  };
  const begun = new Map<number, Set<string>>();
  const stale = new Map<string, MarkedSlot>();
  for (const state of states) {
    const marking = primaryOf(state.view.selfId) ?? state;
    for (const mark of state.view.openSlots) {
      const { slot } = mark;
      const target = targetOf(mark, marking);
      if (target === undefined) stale.set(`${marking.name} ${slot}`, { slot, node: marking.name });
      else begun.set(slot, (begun.get(slot) ?? new Set()).add(target.name));
    }
  }
  const migrationsOf = (slot: number, targets: ReadonlySet<string>): SlotMigration[] =>
    [...targets].map((to) => ({ slot, from: ownerOf(slot)?.name ?? "", to }));
  return {
    begun: [...begun].flatMap(([slot, targets]) => migrationsOf(slot, targets)),
    stale: [...stale.values()],
    reasons: [...begun]
      .filter(([, targets]) => targets.size > 1)
      .map(([slot, targets]) => `slot ${slot} is being imported by several nodes: ${[...targets].join(", ")}`),
  };
}

/** Cancels a migration whose target has no keys, and completes all others. */
export async function finishOpenMigrations({ begun, stale }: OpenMigrations, context: MigrationContext): Promise<void> {
  await clearMarks(stale, context);
  // The source's marks are cleared first, because a source with a mark sends clients to the target for keys that do not
  // exist yet.
  const unused = await withoutKeys(begun, context);
  await clearMarks(
    unused.map(({ slot, from }) => ({ slot, node: from })),
    context,
  );
  const cancelled = await withoutKeys(unused, context);
  await clearMarks(
    cancelled.map(({ slot, to }) => ({ slot, node: to })),
    context,
  );
  const toComplete = begun.filter((migration) => !cancelled.includes(migration));
  await migrateKeyByKey(toComplete, context, () => undefined);
  context.report?.(`ended ${begun.length} slot migrations that had been left open`);
}

async function clearMarks(marks: readonly MarkedSlot[], { member }: MigrationContext): Promise<void> {
  const byNode = [...groupBy(marks, ({ node }) => node)];
  await Promise.all(
    byNode.map(([node, own]) => {
      const slots = own.map(({ slot }) => slot);
      return setSlots(member(node).connection, slots, "STABLE");
    }),
  );
}

/** The migrations whose target has no keys of the slot yet, in any database. */
async function withoutKeys(
  migrations: readonly SlotMigration[],
  { member }: MigrationContext,
): Promise<SlotMigration[]> {
  const byTarget = [...groupBy(migrations, ({ to }) => to)];
  const empty = await Promise.all(
    byTarget.map(async ([to, own]) => {
      const slots = own.map(({ slot }) => slot);
      const { connection } = member(to);
      const held = await heldSlots(connection, slots, await readClusterDatabases(connection));
      const withKeys = new Set(held.map(({ slot }) => slot));
      return own.filter(({ slot }) => !withKeys.has(slot));
    }),
  );
  return empty.flat();
}
