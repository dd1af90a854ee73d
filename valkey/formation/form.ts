/** Formation of a deployment of either mode from nodes that run, and of another shape from one that is formed. */
import type { Deployment } from "../deployment";
import { BadInput } from "../../lib/errors";
import type { ClusterPlan } from "../topology/cluster-plan";
import { planCluster, PlanError } from "../topology/cluster-plan";
import type { PlacedNode, Shape } from "../topology/placement";
import type { FormationOptions, FormationResult } from "./deadline";
import { formCluster } from "./form-cluster";
import { formReplication } from "./form-replication";
import { formSentinels, promotedPrimary } from "../sentinel/form-sentinels";

/**
 * Gives a deployment the wanted shape, whatever it has now: unformed nodes are formed, a cluster by its plan,
 * replication around its first node, or whomever Sentinels have made the primary since; a cluster that serves is resized while it serves, no key lost; where all is as
 * wanted, nothing changes. Told to stop or killed at any point, it goes on from there when called again.
 * @param deployment the nodes that are to be part of it, as many as the shape needs, new ones among them; those
 *   that are to go are `options.leaving`, and run until this returns. (Replicas of replication need no farewell.)
 * @throws BadInput when nodes are too many or few, a node's zone is not known or zones do not keep replicas apart
 *   from their primaries
 * @throws Failure when it cannot start, because keys could be lost or somebody's cluster be broken, or does not end in time
 */
export async function form(
  deployment: Deployment,
  shape: Shape,
  options: FormationOptions = {},
): Promise<FormationResult> {
  if (deployment.mode === "replication") {
    const [first] = deployment.nodes;
    if (first === undefined) throw new BadInput(deployment.name, ["it has no nodes"]);
    const { sentinels } = deployment;
    if (sentinels === undefined) return formReplication(deployment, first, options);
    const result = await formReplication(deployment, (await promotedPrimary(deployment)) ?? first, options);
    return { ...result, changed: (await formSentinels(deployment, sentinels, options)) || result.changed };
  }
  const placed = deployment.nodes.map(({ name, zone }) => ({ name, zone: zone ?? "" }));
  const nowhere = placed.filter(({ zone }) => zone === "").map(({ name }) => `${name}: its zone is unknown`);
  if (nowhere.length > 0) throw new BadInput(`${deployment.name} cannot be planned`, nowhere);
  const leaving = new Set((options.leaving ?? []).map(({ name }) => name));
  const both = placed.filter(({ name }) => leaving.has(name)).map(({ name }) => `${name}: is to stay and to leave`);
  if (both.length > 0) throw new BadInput(`${deployment.name} cannot be planned`, both);
  const plan = planOf(deployment.name, placed, shape);
  if (plan.warnings.length > 0) throw new BadInput(`${deployment.name} would not be zone-safe`, plan.warnings);
  return formCluster(deployment, plan, shape, options);
}

function planOf(name: string, placed: readonly PlacedNode[], shape: Shape): ClusterPlan {
  try {
    return planCluster(placed, shape);
  } catch (error) {
    if (error instanceof PlanError) throw new BadInput(`${name} cannot be planned`, error.problems);
    throw error;
  }
}
