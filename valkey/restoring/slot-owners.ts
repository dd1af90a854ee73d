/** The primaries to which keys are written. */
import { readLayout } from "../archive/shard-layout";
import type { Deployment } from "../deployment";
import type { DeploymentNode } from "../node";
import { slotsOf } from "./restore-shape";

/** The primary of each slot. In replication mode, the primary has all slots. @throws Failure if no node answers */
export async function ownersOf(target: Deployment): Promise<(DeploymentNode | undefined)[]> {
  const { shards } = await readLayout(target);
  const owners: (DeploymentNode | undefined)[] = [];
  for (const shard of shards) {
    const primary = shard.members.find(({ isPrimary }) => isPrimary)?.node;
    for (const { from, to } of slotsOf(shard)) for (let slot = from; slot <= to; slot++) owners[slot] = primary;
  }
  return owners;
}
