/**
 * Disruption budgets of clusters. These budgets depend on the shards: `valkey/topology/disruption-groups.ts` decides
 * how many pods, and which, may be evicted at the same time. Deployments in replication mode keep their first budget.
 */
import { compact } from "../../lib/compact";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { evictOneAtATime, evictOneOfEach } from "../../platforms/kubernetes/pods/disruption-budgets";
import { disruptionGroups } from "../../valkey/topology/disruption-groups";
import type { Verification } from "../../valkey/verification/verify";

/**
 * Allows the eviction of only one pod of a cluster at a time, because nodes may move to other shards now.
 * @throws Failure when the API server refuses the change
 */
export async function tightenBudgets(target: DeploymentReference): Promise<void> {
  if (target.platform !== "kubernetes" || target.mode !== "cluster") return;
  const { namespace, statefulSet: name } = target;
  await evictOneAtATime(await openKubernetesClient(target), { namespace, name });
}

/**
 * Allows the eviction of several pods of a cluster at a time. The shards of the cluster decide which pods.
 * @param verification a verification that passed
 * @throws Failure when the API server refuses the change
 */
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
