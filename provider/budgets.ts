/** Disruption budgets of a cluster, which follow its shards. Other deployments keep the budget that they come with. */
import type { DeploymentReference } from "../platforms/deployment-reference";
import { openKubernetesClient } from "../platforms/deployment-reference";
import { evictOneAtATime, evictOneOfEach } from "../platforms/kubernetes/pods/disruption-budgets";
import { disruptionGroups } from "../valkey/topology/disruption-groups";
import type { Shard } from "../valkey/verification/shards";

/** Lets one pod of a cluster be evicted at a time: its nodes may move to other shards. @throws Failure as the API server */
export async function tightenBudgets(target: DeploymentReference): Promise<void> {
  if (target.platform !== "kubernetes" || target.mode !== "cluster") return;
  const { namespace, statefulSet: name } = target;
  await evictOneAtATime(await openKubernetesClient(target), { namespace, name });
}

/**
 * Lets as many pods of a cluster be evicted at a time as its shards allow.
 * @param shards of a cluster that passes verification
 * @throws Failure as the API server
 */
export async function loosenBudgets(target: DeploymentReference, shards: readonly Shard[]): Promise<void> {
  if (target.platform !== "kubernetes" || target.mode !== "cluster") return;
  const { namespace, statefulSet: name } = target;
  const members = shards.map(({ primary, replicas }) => (primary === undefined ? replicas : [primary, ...replicas]));
  await evictOneOfEach(await openKubernetesClient(target), { namespace, name }, disruptionGroups(members));
}
