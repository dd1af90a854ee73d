/** The shards of a deployment, found by the role that each node reports. */
import type { KnownNode } from "../topology/cluster-view";
import type { SlotRange } from "../topology/slots";
import type { DeploymentFacts, NodeFacts, SeenData } from "./facts";

/** A primary and its replicas, by node name. */
export interface Shard {
  /**
   * Name of the primary. Undefined if the replicas follow a node that did not reply, does not belong to the deployment
   * or is a replica itself, or if several nodes are primaries in replication mode.
   */
  readonly primary: string | undefined;
  readonly replicas: readonly string[];
  /** Slots of the shard. The list is empty in replication mode. */
  readonly slots: readonly SlotRange[];
}

export interface JudgedFacts extends DeploymentFacts {
  readonly shards: readonly Shard[];
  /** The mark of an earlier verification. Undefined if there was none. */
  readonly former?: SeenData | undefined;
}

/** A node that did not reply is in no shard. */
export function shardsOf(facts: DeploymentFacts): Shard[] {
  return facts.mode === "cluster" ? clusterShards(facts.nodes) : replicationShards(facts.nodes);
}

export function selfOf({ view }: NodeFacts): KnownNode | undefined {
  return view.known ? view.value.topology.nodes.get(view.value.selfId) : undefined;
}

/** The only primary in replication mode. Undefined if no node or several nodes report the role of a primary. */
export function solePrimary(shards: readonly Shard[]): string | undefined {
  return shards.length === 1 ? shards[0]?.primary : undefined;
}

function clusterShards(nodes: readonly NodeFacts[]): Shard[] {
  const replicas = new Map<string, string[]>();
  for (const each of nodes) {
    const self = selfOf(each);
    if (self?.primaryId !== undefined)
      replicas.set(self.primaryId, [...(replicas.get(self.primaryId) ?? []), each.node.name]);
  }
  const primaries = nodes.flatMap((each) => {
    const self = selfOf(each);
    return self?.role === "primary" ? [{ id: self.id, name: each.node.name, slots: self.slots }] : [];
  });
  const shards: Shard[] = primaries.map(({ id, name, slots }) => ({
    primary: name,
    slots,
    replicas: (replicas.get(id) ?? []).sort(),
  }));
  const orphans = [...replicas].filter(([id]) => !primaries.some((primary) => primary.id === id));
  for (const [, names] of orphans) shards.push({ primary: undefined, slots: [], replicas: names.sort() });
  return shards.sort((a, b) => (a.slots[0]?.from ?? Infinity) - (b.slots[0]?.from ?? Infinity));
}

function replicationShards(nodes: readonly NodeFacts[]): Shard[] {
  const role = ({ info }: NodeFacts): string | undefined => (info.known ? info.value.get("role") : undefined);
  const primaries = nodes.filter((each) => role(each) === "master");
  const replicas = nodes.filter((each) => role(each) === "slave").map(({ node }) => node.name);
  const [only] = primaries;
  if (primaries.length === 1 && only !== undefined) return [{ primary: only.node.name, replicas, slots: [] }];
  const alone = primaries.map(({ node }): Shard => ({ primary: node.name, replicas: [], slots: [] }));
  return replicas.length === 0 ? alone : [...alone, { primary: undefined, replicas, slots: [] }];
}
