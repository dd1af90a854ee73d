/** The primaries to which keys are written. */
import { readLayout } from "../archive/shard-layout";
import type { Deployment } from "../deployment";
import type { DeploymentNode } from "../node";
import { slotsOf } from "./restore-shape";

/** Primary of a slot. */
export interface Owner {
  readonly node: DeploymentNode;
  /** Whether the primary has a replica whose link is up. */
  readonly hasReplica: boolean;
}

/** The primary of each slot. In replication mode, the primary has all slots. @throws Failure if no node answers */
export async function ownersOf(target: Deployment): Promise<(Owner | undefined)[]> {
  const { shards } = await readLayout(target);
  const owners: (Owner | undefined)[] = [];
  for (const shard of shards) {
    const node = shard.members.find(({ isPrimary }) => isPrimary)?.node;
    const hasReplica = shard.members.some(({ isPrimary, isLinked }) => !isPrimary && isLinked);
    const owner = node === undefined ? undefined : { node, hasReplica };
    for (const { from, to } of slotsOf(shard)) for (let slot = from; slot <= to; slot++) owners[slot] = owner;
  }
  return owners;
}
