import { readLayout } from "../archive/shard-layout";
import type { Deployment } from "../../valkey/deployment";
import type { DeploymentNode } from "../../valkey/node";
import { slotsOf } from "./restore-shape";

export interface Owner {
  readonly node: DeploymentNode;
  readonly hasReplica: boolean;
}

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
