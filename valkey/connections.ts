import { Failure, messageOf } from "../lib/errors";
import type { Connection } from "./connection";
import type { Deployment } from "./deployment";
import type { DeploymentNode } from "./node";

export type ConnectionAttempt =
  | { readonly node: DeploymentNode; readonly connection: Connection }
  | { readonly node: DeploymentNode; readonly connection: undefined; readonly why: string };

export type Connections = ReadonlyMap<DeploymentNode, Connection>;

export async function withConnection<T>(
  opening: Promise<Connection>,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await opening;
  try {
    return await use(connection);
  } finally {
    connection.disconnect();
  }
}

export async function withEveryNode<T>(
  deployment: Pick<Deployment, "nodes" | "connect">,
  use: (attempts: readonly ConnectionAttempt[]) => Promise<T>,
): Promise<T> {
  const attempts = await Promise.all(deployment.nodes.map((node) => attemptConnection(deployment, node)));
  try {
    return await use(attempts);
  } finally {
    for (const { connection } of attempts) connection?.disconnect();
  }
}

async function attemptConnection(
  deployment: Pick<Deployment, "connect">,
  node: DeploymentNode,
): Promise<ConnectionAttempt> {
  try {
    return { node, connection: await deployment.connect(node) };
  } catch (error) {
    return { node, connection: undefined, why: messageOf(error) };
  }
}

/** The caller must close them. @throws Failure that names every node that cannot be reached */
export async function openConnections(deployment: Deployment): Promise<Map<DeploymentNode, Connection>> {
  const connectionOf = async (node: DeploymentNode): Promise<[DeploymentNode, Connection]> => [
    node,
    await deployment.connect(node),
  ];
  const attempts = await Promise.allSettled(deployment.nodes.map(connectionOf));
  const opened = attempts.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const failures = attempts.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
  if (failures.length === 0) return new Map(opened);
  for (const [, connection] of opened) connection.disconnect();
  const cause = new AggregateError(failures);
  throw new Failure(`${deployment.name}: ${failures.map(messageOf).join("; ")}`, { cause });
}

/** @throws Failure that names every node that cannot be reached */
export async function withConnections<T>(
  deployment: Deployment,
  use: (connections: Connections) => Promise<T>,
): Promise<T> {
  const connections = await openConnections(deployment);
  try {
    return await use(connections);
  } finally {
    closeConnections(connections);
  }
}

export function closeConnections(connections: Connections): void {
  for (const connection of connections.values()) connection.disconnect();
}
