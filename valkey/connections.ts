/** Connections to all nodes of a deployment at once. */
import type { Connection } from "./connection";
import type { DeploymentNode } from "./node";
import type { Deployment } from "./deployment";
import { Failure, messageOf } from "../lib/errors";

/** A node with a connection, or with why there is none. */
export type ConnectionAttempt =
  | { readonly node: DeploymentNode; readonly connection: Connection }
  | { readonly node: DeploymentNode; readonly connection: undefined; readonly why: string };

/** Tries to connect to every node at once; closes all connections when `use` is done. */
export async function withEveryNode<T>(
  deployment: Deployment,
  use: (reached: readonly ConnectionAttempt[]) => Promise<T>,
): Promise<T> {
  const reached = await Promise.all(
    deployment.nodes.map(async (node): Promise<ConnectionAttempt> => {
      try {
        return { node, connection: await deployment.connect(node) };
      } catch (error) {
        return { node, connection: undefined, why: messageOf(error) };
      }
    }),
  );
  try {
    return await use(reached);
  } finally {
    for (const { connection } of reached) connection?.disconnect();
  }
}

/**
 * Connections to all nodes, which the caller closes.
 * @throws Failure naming every node that cannot be reached
 */
export async function openConnections(deployment: Deployment): Promise<Map<DeploymentNode, Connection>> {
  const tried = await Promise.allSettled(
    deployment.nodes.map(async (node) => [node, await deployment.connect(node)] as const),
  );
  const opened = tried.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const missing = tried.flatMap((each) => (each.status === "rejected" ? [messageOf(each.reason)] : []));
  if (missing.length === 0) return new Map(opened);
  for (const [, connection] of opened) connection.disconnect();
  throw new Failure(`${deployment.name}: ${missing.join("; ")}`);
}

/**
 * Connections to all nodes while `use` runs.
 * @throws Failure naming every node that cannot be reached
 */
export async function withConnections<T>(
  deployment: Deployment,
  use: (connections: ReadonlyMap<DeploymentNode, Connection>) => Promise<T>,
): Promise<T> {
  const connections = await openConnections(deployment);
  try {
    return await use(connections);
  } finally {
    for (const connection of connections.values()) connection.disconnect();
  }
}
