/** Formation of a deployment of either mode from nodes that run. */
import type { Deployment } from "../deployment";
import { BadInput } from "../errors";
import { planCluster } from "../topology/cluster-plan";
import type { Shape } from "../topology/placement";
import type { FormationOptions, FormationResult } from "./awaiting";
import { formCluster } from "./form-cluster";
import { formReplication } from "./form-replication";

/**
 * Forms a deployment: a cluster by its plan, replication around its first node. Changes nothing where that
 * is done already.
 * @throws BadInput when a node's zone is not known or zones do not keep replicas apart from their primaries
 * @throws Failure when formation cannot start or does not end in time
 */
export async function form(deployment: Deployment, shape: Shape, options: FormationOptions = {}): Promise<FormationResult> {
  if (deployment.mode === "replication") {
    const [primary] = deployment.nodes;
    if (primary === undefined) throw new BadInput(deployment.name, ["it has no nodes"]);
    return formReplication(deployment, primary, options);
  }
  const placed = deployment.nodes.map(({ name, zone }) => ({ name, zone: zone ?? "" }));
  const nowhere = placed.filter(({ zone }) => zone === "").map(({ name }) => `${name}: its zone is unknown`);
  if (nowhere.length > 0) throw new BadInput(`${deployment.name} cannot be planned`, nowhere);
  const plan = planCluster(placed, shape);
  if (plan.warnings.length > 0) throw new BadInput(`${deployment.name} would not be zone-safe`, plan.warnings);
  return formCluster(deployment, plan, shape, options);
}
