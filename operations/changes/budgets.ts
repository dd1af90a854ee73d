/** Budgets of clusters depend on the shards. Deployments in replication mode keep their first budget. */
import { compact } from "../../lib/compact";
import { type DeploymentReference, openKubernetesClient } from "../../platforms/deployment-reference";
import { evictOneAtATime, evictOneOfEach } from "../../platforms/kubernetes/pods/disruption-budgets";
import type { Verification } from "../../valkey/verification/verify";
import { groupBy } from "../../lib/group-by";

/** Nodes may move to other shards now. @throws Failure when the API server refuses the change */
export async function tightenBudgets(target: DeploymentReference): Promise<void> {
  if (target.platform !== "kubernetes" || target.mode !== "cluster") return;
  const { namespace, statefulSet: name } = target;
  await evictOneAtATime(await openKubernetesClient(target), { namespace, name });
}

/** By the shards of a verification that passed. @throws Failure when the API server refuses the change */
export async function loosenBudgets(target: DeploymentReference, { facts, verdict }: Verification): Promise<void> {
  if (target.platform !== "kubernetes" || target.mode !== "cluster") return;
  const { namespace, statefulSet: name } = target;
  const nodes = new Map(facts.nodes.map(({ node }) => [node.name, node]));
  const members = verdict.shards.map(({ primary, replicas }) =>
    compact([primary, ...replicas]).map((each) => {
      const { machine = each, zone = "" } = nodes.get(each) ?? {};
      return { name: each, machine, zone };
    }),
  );
  await evictOneOfEach(await openKubernetesClient(target), { namespace, name }, disruptionGroups(members));
}

export interface DisruptedNode {
  readonly name: string;
  readonly machine: string;
  readonly zone: string;
}

type Group = (readonly DisruptedNode[])[];

/**
 * Whole shards: with one node of each group unavailable, no shard lacks two nodes, and a majority of the primaries is
 * available, also after failovers. As few nodes as possible on one machine, so that a drain rarely waits, then in one
 * zone.
 * @returns one group if a shard has a single node, without which its slots are unavailable
 */
export function disruptionGroups(shards: readonly (readonly DisruptedNode[])[]): string[][] {
  const minority = Math.ceil(shards.length / 2) - 1;
  const count = shards.every((members) => members.length > 1) ? Math.max(1, minority) : 1;
  const most = Math.ceil(shards.length / count);
  const groups = Array.from({ length: count }, (): Group => []);
  for (const shard of shards) {
    const crowds = (group: Group): number[] => [
      crowdOf([...group, shard], "machine"),
      crowdOf([...group, shard], "zone"),
    ];
    const open = groups.filter(({ length }) => length < most);
    const [best] = open
      .map((group) => ({ group, cost: [...crowds(group), group.length] }))
      .sort((one, other) => compareInOrder(one.cost, other.cost));
    best?.group.push(shard);
  }
  return groups.map((group) => group.flat().map(({ name }) => name));
}

/** Highest number of nodes that a group has on one machine or in one zone. */
function crowdOf(group: Group, place: "machine" | "zone"): number {
  const crowds = groupBy(group.flat(), (node) => node[place]);
  return Math.max(0, ...[...crowds.values()].map(({ length }) => length));
}

function compareInOrder(some: readonly number[], others: readonly number[]): number {
  const index = some.findIndex((number, at) => number !== others[at]);
  return (some[index] ?? 0) - (others[index] ?? 0);
}
