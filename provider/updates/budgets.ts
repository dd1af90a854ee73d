/** Disruption budgets of a cluster, which follow its shards. Other deployments keep the budget that they come with. */
import { compact } from "../../lib/compact";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { evictOneAtATime, evictOneOfEach } from "../../platforms/kubernetes/pods/disruption-budgets";
import { disruptionGroups } from "../../valkey/topology/disruption-groups";
import type { Verification } from "../../valkey/verification/verify";

/** Lets one pod of a cluster be evicted at a time: its nodes may move to other shards. @throws Failure as the API server */
export async function tightenBudgets(target: DeploymentReference): Promise<void> {
  if (target.platform !== "kubernetes" || target.mode !== "cluster") return;
  const { namespace, statefulSet: name } = target;
  await evictOneAtATime(await openKubernetesClient(target), { namespace, name });
}

/**
 * Lets as many pods of a cluster be evicted at a time as its shards allow.
 * @param verification that passes
 * @throws Failure as the API server
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
