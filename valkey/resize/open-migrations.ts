/** Ending moves of slots that somebody began by SETSLOT and did not end. */
import type { SlotMigration } from "./key-migration";
import { migrateKeyByKey } from "./key-migration";
import type { OpenMigrations } from "./resize-facts";
import { sendPipeline, setSlots } from "./slot-commands";
import type { MigrationContext } from "./migration-context";

/** Ends moves: back where the target has no key yet, else forward; marks of moves that have ended are taken off. */
export async function finishOpenMigrations({ begun, stale }: OpenMigrations, moving: MigrationContext): Promise<void> {
  const settle = (marks: readonly { slot: number; node: string }[]): Promise<unknown> =>
    perNode(
      marks,
      ({ node }) => node,
      async (node, own) => {
        await setSlots(
          moving.member(node).connection,
          own.map(({ slot }) => slot),
          "STABLE",
        );
        return own;
      },
    );
  const withoutKeys = (moves: readonly SlotMigration[]): Promise<SlotMigration[]> =>
    perNode(
      moves,
      ({ to }) => to,
      async (node, own) => {
        const counts = await sendPipeline(
          moving.member(node).connection,
          own.map(({ slot }) => ["CLUSTER", "COUNTKEYSINSLOT", slot]),
        );
        return own.filter((_move, index) => counts[index] === 0);
      },
    );
  await settle(stale);
  // The source first: as long as it is marked, it sends clients with new keys to the target.
  const unused = await withoutKeys(begun);
  await settle(unused.map(({ slot, from }) => ({ slot, node: from })));
  const back = await withoutKeys(unused);
  await settle(back.map(({ slot, to }) => ({ slot, node: to })));
  await migrateKeyByKey(
    begun.filter((move) => !back.includes(move)),
    moving,
    () => undefined,
  );
  moving.report?.(`finished ${begun.length} moves of slots that were left open`);
}

/** Does something for each node with its own of the items, all nodes at once. */
async function perNode<T, U>(
  items: readonly T[],
  nodeOf: (item: T) => string,
  act: (node: string, own: readonly T[]) => Promise<readonly U[]>,
): Promise<U[]> {
  const nodes = [...new Set(items.map(nodeOf))];
  return (
    await Promise.all(
      nodes.map((node) =>
        act(
          node,
          items.filter((item) => nodeOf(item) === node),
        ),
      ),
    )
  ).flat();
}
