import { BadInput, Failure } from "../../lib/errors";
import type { Deployment } from "../deployment";
import { formSentinels } from "../sentinel/form-sentinels";
import { type ClusterPlan, planCluster, PlanError } from "../topology/cluster-plan";
import type { PlacedNode, Shape } from "../topology/placement";
import { type FormationOptions, type FormationResult, Deadline } from "../membership/deadline";
import { formCluster } from "./form-cluster";
import { awaitPrimary, findSolePrimary, announcedEndpoint } from "../membership/replication-primary";
import { allInOrder } from "../../lib/all-in-order";
import type { Connection } from "../connection";
import { type Connections, withConnections } from "../connections";
import { readKeyCount } from "../databases";
import type { DeploymentNode, Endpoint } from "../node";
import { infoFields, parseInfo } from "../topology/replies";
import { FAST_SYNC_SETTINGS, restoreLeftoverSettings, TemporarySettings } from "../membership/temporary-settings";

/**
 * Gives a deployment the wanted shape. A call that was stopped or killed at any point can be repeated.
 * @param deployment has all nodes of the wanted shape; nodes that leave are in `options.leaving`, and must run until
 * this returns
 * @throws BadInput when nodes, zones and shape do not fit
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

/** @throws BadInput for nodes without a zone, and for nodes that both stay and leave */
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

/** @throws Failure when a node that would become a replica has keys of its own, or when links are not up in time */
async function formReplication(
  deployment: Deployment,
  primary: DeploymentNode,
  options: FormationOptions = {},
): Promise<FormationResult> {
  const deadline = new Deadline(deployment.name, deployment.nodes.length, options);
  const { host, port } = await announcedEndpoint(deployment, primary);
  return withConnections(deployment, async (connections) => {
    await restoreLeftoverSettings(deployment, [...connections.values()]);
    const replicas = [...connections]
      .filter(([node]) => node !== primary)
      .map(([node, connection]) => ({ node, connection }));
    const following = await Promise.all(replicas.map(({ connection }) => isReplicaOf(connection, { host, port })));
    const joining = replicas.filter((_replica, index) => following[index] !== true);
    if (options.repair !== undefined && joining.length > 0) await refuseEmptyPrimary(primary, connections);
    await allInOrder(joining.map(({ node, connection }) => refuseKeys(node, connection, primary)));
    const settings = new TemporarySettings(deployment, joining.length === 0 ? [] : [...connections.values()]);
    try {
      await settings.set(FAST_SYNC_SETTINGS);
      await Promise.all(joining.map(({ connection }) => connection.replicaof(host, port)));
      await Promise.all(replicas.map(({ node, connection }) => deadline.poll(() => missingLink(node, connection))));
      const primaryConnection = connections.get(primary);
      if (primaryConnection !== undefined) {
        await deadline.poll(() => missingReplicas(primary, primaryConnection, replicas.length));
      }
    } finally {
      await settings.restore();
    }
    return { changed: joining.length > 0, milliseconds: deadline.elapsedMs };
  });
}

/** A person may have separated a replica from this primary to keep the replica's data. */
async function refuseEmptyPrimary(primary: DeploymentNode, connections: Connections): Promise<void> {
  const connection = connections.get(primary);
  if (connection !== undefined && (await readKeyCount(connection)) > 0) return;
  throw new Failure(
    `no node becomes a replica of ${primary.name}, because ${primary.name} holds no keys and its replicas would lose theirs`,
  );
}

async function isReplicaOf(connection: Connection, { host, port }: Endpoint): Promise<boolean> {
  const info = parseInfo(await connection.info("replication"));
  return info.get("role") === "slave" && info.get("master_host") === host && info.get("master_port") === String(port);
}

async function refuseKeys(node: DeploymentNode, connection: Connection, primary: DeploymentNode): Promise<void> {
  const [keys, info] = await Promise.all([readKeyCount(connection), connection.info("replication")]);
  if (keys === 0 || parseInfo(info).get("role") === "slave") return;
  throw new Failure(
    `${node.name} cannot become a replica of ${primary.name}, because ${node.name} would lose the ${keys} keys that it holds`,
  );
}

async function missingLink({ name }: DeploymentNode, connection: Connection): Promise<string | undefined> {
  const link = parseInfo(await connection.info("replication")).get("master_link_status");
  return link === "up" ? undefined : `${name}'s link to its primary is ${link ?? "missing"}`;
}

/** The primary counts a replica a moment after the replica's link is up. */
async function missingReplicas(
  { name }: DeploymentNode,
  connection: Connection,
  wanted: number,
): Promise<string | undefined> {
  const info = parseInfo(await connection.info("replication"));
  const isOnline = ([key, value]: [string, string]): boolean =>
    /^slave\d+$/.test(key) && infoFields(value).get("state") === "online";
  const online = [...info].filter(isOnline).length;
  return online >= wanted ? undefined : `${name} counts ${online} of ${wanted} replicas as online`;
}
