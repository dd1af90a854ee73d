/** Makes all other nodes replicas of one primary, and waits until all replication links are up. */
import { allInOrder } from "../../lib/all-in-order";
import { Failure } from "../../lib/errors";
import type { Connection } from "../connection";
import type { Connections } from "../connections";
import { withConnections } from "../connections";
import { readKeyCount } from "../databases";
import type { Deployment } from "../deployment";
import { announcedEndpoint } from "../membership/replication-primary";
import type { DeploymentNode, Endpoint } from "../node";
import { infoFields, parseInfo } from "../topology/replies";
import type { FormationOptions, FormationResult } from "../membership/deadline";
import { Deadline } from "../membership/deadline";
import { FAST_SYNC_SETTINGS, restoreLeftoverSettings, TemporarySettings } from "../membership/temporary-settings";

/**
 * Makes every node except `primary` a replica of `primary`. Nodes that already follow `primary` are not changed.
 * @throws Failure when a node that would become a replica has keys of its own, or when links are not up in time
 */
export async function formReplication(
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

/**
 * Refuses to make nodes replicas of a primary without keys. A person may have separated a replica from this primary to
 * keep the replica's data.
 */
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

/**
 * Message if the primary counts too few replicas as online. Undefined if the primary counts enough. The primary counts
 * a replica a moment after the replica's link is up.
 */
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
