import { Failure } from "../../lib/errors";
import { withConnections } from "../connections";
import { keysInAllDatabases } from "../databases";
import type { Deployment } from "../deployment";
import type { DeploymentNode, Endpoint } from "../node";
import { hasPrimaryRole, infoNumber, parseFlatReply, parseInfo } from "../topology/replies";
import type { Deadline } from "./deadline";

interface ReplicationRole {
  readonly node: DeploymentNode;
  readonly isPrimary: boolean;
  readonly replicas: number;
  readonly keys: number;
}

/** @throws Failure when no node or more than one node reports this role */
export async function findSolePrimary(deployment: Deployment): Promise<DeploymentNode> {
  const found = solePrimary(deployment.name, await readRoles(deployment));
  if (typeof found === "string") throw new Failure(found);
  return found;
}

/** @throws Failure when the time is up */
export function awaitSolePrimary(deployment: Deployment, deadline: Deadline): Promise<DeploymentNode> {
  return deadline.find(async () => solePrimary(deployment.name, await readRoles(deployment)));
}

/** Waits while all nodes are replicas, which happens during a failover. @throws Failure when the time is up */
export function awaitPrimary(deployment: Deployment, deadline: Deadline): Promise<DeploymentNode> {
  return deadline.find(async () => choosePrimary(await readRoles(deployment)) ?? `${deployment.name} has no primary`);
}

/** If there are several, prefers one with replicas, then one with keys, then the first. */
function choosePrimary(roles: readonly ReplicationRole[]): DeploymentNode | undefined {
  const primaries = roles.filter(({ isPrimary }) => isPrimary);
  const leading = primaries.find(({ replicas }) => replicas > 0) ?? primaries.find(({ keys }) => keys > 0);
  return (leading ?? primaries[0])?.node;
}

function solePrimary(deployment: string, roles: readonly ReplicationRole[]): DeploymentNode | string {
  const primaries = roles.filter(({ isPrimary }) => isPrimary).map(({ node }) => node);
  const [primary, ...others] = primaries;
  if (primary === undefined) return `${deployment} has no primary`;
  if (others.length === 0) return primary;
  return `${deployment} has ${primaries.length} primaries: ${primaries.map(({ name }) => name).join(", ")}`;
}

function readRoles(deployment: Deployment): Promise<ReplicationRole[]> {
  return withConnections(deployment, (connections) =>
    Promise.all(
      [...connections].map(async ([node, connection]) => {
        const [replication, keyspace] = await Promise.all([
          connection.info("replication"),
          connection.info("keyspace"),
        ]);
        const info = parseInfo(replication);
        const replicas = infoNumber(info, "connected_slaves") ?? 0;
        return { node, isPrimary: hasPrimaryRole(info), replicas, keys: keysInAllDatabases(parseInfo(keyspace)) };
      }),
    ),
  );
}

/** A pod announces its host name, which stays the same when the address of the pod changes. */
export async function announcedEndpoint(deployment: Deployment, node: DeploymentNode): Promise<Endpoint> {
  const directive = "replica-announce-ip";
  const found = await withConnections({ ...deployment, nodes: [node] }, (connections) =>
    Promise.all([...connections.values()].map((connection) => connection.config("GET", directive))),
  );
  const announced = found.map((reply) => parseFlatReply(reply).get(directive) ?? "").join("");
  return { ...node.endpoint, host: announced === "" ? node.endpoint.host : announced };
}
