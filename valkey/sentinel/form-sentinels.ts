/** Having Sentinels watch a formed replication deployment, finished only when they all know each other, the primary and every replica. */
import type { Connection } from "../connection";
import { withConnections } from "../connections";
import type { DeploymentNode, Endpoint } from "../node";
import type { Deployment } from "../deployment";
import { formatEndpoint, nodeNameAt } from "../node";
import { Failure } from "../../lib/errors";
import type { FormationOptions } from "../formation/deadline";
import { Deadline } from "../formation/deadline";
import { parseInfo } from "../topology/info";
import type { Sentinels } from "./plan";
import { monitorCommands } from "./plan";
import type { SentinelView } from "./sentinel-view";
import { readSentinelView, failureFlags } from "./sentinel-view";

/** The deployment's Sentinels, as nodes to be connected to. */
export function sentinelsAsDeployment(deployment: Deployment, { nodes }: Sentinels): Deployment {
  return { ...deployment, name: `${deployment.name}'s Sentinels`, nodes };
}

/**
 * Has every Sentinel watch the primary there is; those that do already are left alone.
 * @returns whether any had to be told
 * @throws Failure when there is no one primary, or they do not agree in time
 */
export async function formSentinels(
  deployment: Deployment,
  sentinels: Sentinels,
  options: FormationOptions = {},
): Promise<boolean> {
  const awaiting = new Deadline(`${deployment.name}'s Sentinels`, sentinels.nodes.length, options);
  const primary = await findSolePrimary(deployment);
  return withConnections(sentinelsAsDeployment(deployment, sentinels), async (connections) => {
    const told = await Promise.all(
      [...connections.values()].map((connection) => watchPrimary(connection, deployment, primary, sentinels)),
    );
    const wanted = {
      deployment,
      primary: primary.name,
      replicas: deployment.nodes.length - 1,
      others: sentinels.nodes.length - 1,
    };
    await Promise.all(
      [...connections].map(([node, connection]) =>
        awaiting.poll(async () => lacks(node, await readSentinelView(connection, deployment.name), wanted)),
      ),
    );
    return told.includes(true);
  });
}

async function watchPrimary(
  connection: Connection,
  { name, access, nodes }: Deployment,
  primary: DeploymentNode,
  { settings }: Sentinels,
): Promise<boolean> {
  const watch = await readSentinelView(connection, name);
  const at = ({ host, port }: Endpoint): string | undefined => nodeNameAt(nodes, host, port);
  // Replicas at addresses that nobody has any more would be waited for, and counted, for ever.
  const stale = watch?.replicas.some(({ endpoint }) => at(endpoint) === undefined) ?? false;
  if (watch !== undefined && !stale && at(watch.primary) === primary.name) return false;
  if (watch !== undefined) await connection.call("SENTINEL", "REMOVE", name);
  for (const [command = "", ...words] of monitorCommands(name, primary.endpoint, settings, access.password))
    await connection.call(command, ...words);
  return true;
}

/** @returns what is missing, undefined when nothing is */
function lacks(
  { name }: DeploymentNode,
  watch: SentinelView | undefined,
  wanted: {
    readonly deployment: Deployment;
    readonly primary: string;
    readonly replicas: number;
    readonly others: number;
  },
): string | undefined {
  if (watch === undefined) return `${name} watches nobody`;
  const trouble = failureFlags(watch.flags);
  if (trouble.length > 0) return `${name} says of the primary: ${trouble.join(", ")}`;
  if (nodeNameAt(wanted.deployment.nodes, watch.primary.host, watch.primary.port) !== wanted.primary)
    return `${name} takes ${formatEndpoint(watch.primary)} for the primary`;
  const replicas = watch.replicas.filter(({ flags, linkUp }) => linkUp && failureFlags(flags).length === 0).length;
  if (replicas !== wanted.replicas || watch.replicas.length !== wanted.replicas)
    return `${name} knows ${replicas} replicas that are well, of ${wanted.replicas}`;
  const others = watch.otherSentinels.filter(({ flags }) => failureFlags(flags).length === 0).length;
  if (others !== wanted.others) return `${name} knows ${others} other Sentinels, of ${wanted.others}`;
  return watch.reachesQuorum === true ? undefined : `${name}: ${watch.reachesQuorum}`;
}

/** Whom Sentinels have made the primary of a formed deployment: the one primary that has replicas; undefined where there is none yet. */
export async function promotedPrimary(deployment: Deployment): Promise<DeploymentNode | undefined> {
  return withConnections(deployment, async (connections) => {
    const infos = await Promise.all(
      [...connections].map(async ([node, connection]) => ({
        node,
        info: parseInfo(await connection.info("replication")),
      })),
    );
    const leading = infos.filter(
      ({ info }) => info.get("role") === "master" && Number(info.get("connected_slaves")) > 0,
    );
    return leading.length === 1 ? leading[0]?.node : undefined;
  });
}

/** The one node that says it is the primary. @throws Failure when that is none or several */
export async function findSolePrimary(deployment: Deployment): Promise<DeploymentNode> {
  return withConnections(deployment, async (connections) => {
    const roles = await Promise.all(
      [...connections].map(async ([node, connection]) => ({
        node,
        role: parseInfo(await connection.info("replication")).get("role"),
      })),
    );
    const primaries = roles.filter(({ role }) => role === "master").map(({ node }) => node);
    const [primary, ...others] = primaries;
    if (primary === undefined || others.length > 0)
      throw new Failure(
        `${deployment.name} has ${primaries.length} primaries${others.length > 0 ? `: ${primaries.map(({ name }) => name).join(", ")}` : ""}`,
      );
    return primary;
  });
}
