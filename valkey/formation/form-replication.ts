/** Making nodes follow one primary, finished only when every replica's link is up. */
import type { Connection } from "../connection";
import { withConnections } from "../connections";
import type { DeploymentNode } from "../node";
import type { Deployment } from "../deployment";
import { Failure } from "../../lib/errors";
import { infoFields, parseInfo } from "../topology/info";
import type { FormationOptions, FormationResult } from "./deadline";
import { Deadline } from "./deadline";
import { FAST_SYNC_SETTINGS, TemporarySettings } from "./temporary-settings";

/**
 * Makes every other node a replica of `primary`. Replicas that follow it already are left alone.
 * @throws Failure when a node with keys of its own would become a replica, or when links are not up in time
 */
export async function formReplication(
  deployment: Deployment,
  primary: DeploymentNode,
  options: FormationOptions = {},
): Promise<FormationResult> {
  const awaiting = new Deadline(deployment.name, deployment.nodes.length, options);
  return withConnections(deployment, async (connections) => {
    const replicas = [...connections]
      .filter(([node]) => node !== primary)
      .map(([node, connection]) => ({ node, connection }));
    const following = await Promise.all(replicas.map(({ connection }) => follows(connection, primary)));
    const free = replicas.filter((_replica, index) => following[index] !== true);
    await Promise.all(free.map(({ node, connection }) => refuseKeys(node, connection, primary)));
    const settings = new TemporarySettings(deployment, free.length === 0 ? [] : [...connections.values()]);
    try {
      await settings.set(FAST_SYNC_SETTINGS);
      await Promise.all(
        free.map(({ connection }) => connection.replicaof(primary.endpoint.host, primary.endpoint.port)),
      );
      await Promise.all(replicas.map(({ node, connection }) => awaiting.poll(() => lacksLink(node, connection))));
      const leader = connections.get(primary);
      if (leader !== undefined) await awaiting.poll(() => lacksReplicas(primary, leader, replicas.length));
    } finally {
      await settings.restore();
    }
    return { changed: free.length > 0, milliseconds: awaiting.elapsedMs };
  });
}

async function follows(connection: Connection, primary: DeploymentNode): Promise<boolean> {
  const info = parseInfo(await connection.info("replication"));
  return (
    info.get("role") === "slave" &&
    info.get("master_host") === primary.endpoint.host &&
    info.get("master_port") === String(primary.endpoint.port)
  );
}

async function refuseKeys(node: DeploymentNode, connection: Connection, primary: DeploymentNode): Promise<void> {
  const [keys, info] = await Promise.all([connection.dbsize(), connection.info("replication")]);
  if (keys > 0 && parseInfo(info).get("role") !== "slave") {
    throw new Failure(`${node.name} is to become a replica of ${primary.name} but holds ${keys} keys of its own`);
  }
}

async function lacksLink({ name }: DeploymentNode, connection: Connection): Promise<string | undefined> {
  const link = parseInfo(await connection.info("replication")).get("master_link_status");
  return link === "up" ? undefined : `${name}'s link to its primary is ${link ?? "not there"}`;
}

/** A replica's link is up a moment before its primary counts it. */
async function lacksReplicas(
  { name }: DeploymentNode,
  connection: Connection,
  wanted: number,
): Promise<string | undefined> {
  const info = parseInfo(await connection.info("replication"));
  const online = [...info].filter(
    ([key, value]) => /^slave\d+$/.test(key) && infoFields(value).get("state") === "online",
  ).length;
  return online >= wanted ? undefined : `${name} counts ${online} of ${wanted} replicas as online`;
}
