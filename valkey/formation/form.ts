/**
 * Forms a deployment from running nodes, in cluster mode or replication mode, and resizes a deployment that is already
 * formed.
 */
import { BadInput } from "../../lib/errors";
import type { Deployment } from "../deployment";
import { formSentinels } from "../sentinel/form-sentinels";
import type { ClusterPlan } from "../topology/cluster-plan";
import { planCluster, PlanError } from "../topology/cluster-plan";
import type { PlacedNode, Shape } from "../topology/placement";
import type { FormationOptions, FormationResult } from "../membership/deadline";
import { Deadline } from "../membership/deadline";
import { formCluster } from "./form-cluster";
import { formReplication } from "./form-replication";
import { awaitPrimary, findSolePrimary } from "../membership/replication-primary";

/**
 * Gives a deployment the wanted shape:
 *
 * - Replication is formed around the present primary. In a new deployment, where all nodes are primaries, the first
 *   node becomes the primary.
 * - An unformed cluster is formed by its plan.
 * - A cluster that serves all slots is resized while it serves, without losing a key.
 * - If failovers have moved most primaries of a cluster into one zone, some replicas in other zones take over.
 * - Any other deployment that has the wanted shape is not changed.
 *
 * If a call is stopped or killed at any point, the next call continues from there.
 * @param deployment has all nodes of the wanted shape, including new nodes. Nodes that leave a cluster are in
 * `options.leaving`. These nodes must run until this function returns. In replication mode, a replica that leaves can
 * simply be stopped.
 * @throws BadInput when the number of nodes does not fit the shape, a zone is unknown, or the zones do not separate
 *   replicas from their primaries
 * @throws Failure when forming would lose keys or damage a different cluster, or when the time is up
 */
export async function form(
  deployment: Deployment,
  shape: Shape,
  options: FormationOptions = {},
): Promise<FormationResult> {
  if (deployment.mode === "replication") return formAroundPrimary(deployment, options);
  const placed = placedNodes(deployment, options);
  const plan = planOrReject(deployment.name, placed, shape);
  if (plan.warnings.length > 0)
    throw BadInput.of(`${deployment.name} would not survive the loss of a zone`, "zone-needed", plan.warnings);
  return formCluster(deployment, plan, shape, options);
}

async function formAroundPrimary(deployment: Deployment, options: FormationOptions): Promise<FormationResult> {
  const { name, nodes, sentinels } = deployment;
  if (nodes.length === 0) throw BadInput.of(name, "no-nodes", "it has no nodes");
  const primary =
    options.repair === undefined
      ? await awaitPrimary(deployment, new Deadline(name, nodes.length, options))
      : await findSolePrimary(deployment);
  const result = await formReplication(deployment, primary, options);
  if (sentinels === undefined) return result;
  const reconfigured = await formSentinels(deployment, sentinels, options);
  return { ...result, changed: reconfigured || result.changed };
}

/**
 * The nodes of a deployment with their zones.
 * @throws BadInput for nodes without a zone, and for nodes that both stay and leave
 */
function placedNodes({ name: deployment, nodes }: Deployment, { leaving = [] }: FormationOptions): PlacedNode[] {
  const placed = nodes.map(({ name, zone }) => ({ name, zone: zone ?? "" }));
  const unplaced = placed.filter(({ zone }) => zone === "").map(({ name }) => `${name}: its zone is unknown`);
  if (unplaced.length > 0) throw BadInput.of(`${deployment} cannot be planned`, "unknown-zone", unplaced);
  const leavingNames = new Set(leaving.map(({ name }) => name));
  const both = placed.filter(({ name }) => leavingNames.has(name));
  if (both.length === 0) return placed;
  const problems = both.map(
    ({ name }) => `${name} is listed both among the nodes that stay and among the nodes that leave`,
  );
  throw BadInput.of(`${deployment} cannot be planned`, "stays-and-leaves", problems);
}

function planOrReject(deployment: string, placed: readonly PlacedNode[], shape: Shape): ClusterPlan {
  try {
    return planCluster(placed, shape);
  } catch (error) {
    if (error instanceof PlanError)
      throw BadInput.of(`${deployment} cannot be planned`, "not-placeable", error.problems);
    throw error;
  }
}
