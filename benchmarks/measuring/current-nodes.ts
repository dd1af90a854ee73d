/** Roles of nodes as they are now, asked over new connections: failovers and resizes may have changed them. */
import { messageOf } from "../../lib/errors";
import { type Connection, readInfoSections } from "../../valkey/connection";
import { withEveryNode } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import { type DeploymentNode, formatEndpoint, nodeNameAt } from "../../valkey/node";
import { hasPrimaryRole, infoNumber, parseInfo } from "../../valkey/topology/replies";
import { type KnownNode, ViewParser } from "../../valkey/topology/cluster-view";
import type { SlotRange } from "../../valkey/topology/slots";
import type { PrimaryNode } from "../workloads/prefill";

const NODE_LIMIT_MS = 5_000;

export interface CurrentNodes {
  readonly replying: readonly { readonly node: DeploymentNode; readonly connection: Connection }[];
  readonly primaries: readonly (PrimaryNode & { readonly node: DeploymentNode })[];
  readonly silent: readonly { readonly node: DeploymentNode; readonly why: string }[];
}

export async function withCurrentNodes<T>(
  deployment: Deployment,
  use: (current: CurrentNodes) => Promise<T>,
): Promise<T> {
  const views = new ViewParser();
  return withLooks(deployment, deployment.nodes, views, (named) =>
    withLooks(deployment, unnamedPrimaries(deployment, named.known), views, (unnamed) => {
      const primaries = [...named.known, ...unnamed.known].flatMap(({ node, connection, role }) =>
        role.isPrimary ? [{ node, name: node.name, connection, slots: role.slots, replicas: role.replicas }] : [],
      );
      return use({ replying: named.known, primaries, silent: [...named.silent, ...unnamed.silent] });
    }),
  );
}

interface Looks {
  readonly known: readonly {
    readonly node: DeploymentNode;
    readonly connection: Connection;
    readonly role: NodeRole;
  }[];
  readonly silent: CurrentNodes["silent"];
}

function withLooks<T>(
  deployment: Deployment,
  nodes: readonly DeploymentNode[],
  views: ViewParser,
  use: (looks: Looks) => Promise<T>,
): Promise<T> {
  const connect: Deployment["connect"] = (node) => deployment.connect(node, NODE_LIMIT_MS);
  return withEveryNode({ connect, nodes }, async (attempts) => {
    const looks = await Promise.all(
      attempts.map(async (attempt) => {
        if (attempt.connection === undefined) return attempt;
        try {
          return { ...attempt, role: await readRole(attempt.connection, deployment, views) };
        } catch (error) {
          return { ...attempt, why: messageOf(error) };
        }
      }),
    );
    return use({
      known: looks.flatMap((look) => ("role" in look ? [look] : [])),
      silent: looks.flatMap((look) => ("why" in look ? [look] : [])),
    });
  });
}

interface NodeRole {
  readonly isPrimary: boolean;
  readonly slots: readonly SlotRange[] | undefined;
  readonly replicas: number;
  readonly id: string | undefined;
  readonly peers: readonly KnownNode[];
}

async function readRole(connection: Connection, { mode }: Deployment, views: ViewParser): Promise<NodeRole> {
  const info = parseInfo(await readInfoSections(connection, "replication"));
  const replicas = infoNumber(info, "connected_slaves") ?? 0;
  if (mode === "replication")
    return { isPrimary: hasPrimaryRole(info), slots: undefined, replicas, id: undefined, peers: [] };
  const { topology, selfId: id } = views.parse(String(await connection.call("CLUSTER", "NODES")));
  const peers = [...topology.nodes.values()].filter(({ role, slots }) => role === "primary" && slots.length > 0);
  const self = peers.find((peer) => peer.id === id);
  return { isPrimary: self !== undefined, slots: self?.slots ?? [], replicas, id, peers };
}

/** Primaries that the cluster has and that nobody named, such as nodes that were added during the measurement. */
function unnamedPrimaries({ nodes }: Deployment, known: Looks["known"]): DeploymentNode[] {
  const named = new Set(known.map(({ role }) => role.id));
  const others = known
    .flatMap(({ role }) => role.peers)
    .filter(
      ({ id, address: { host, port } }) => !named.has(id) && host !== "" && nodeNameAt(nodes, host, port) === undefined,
    );
  return [...new Map(others.map(({ id, address }) => [id, address])).values()].map(({ host, port }) => {
    const endpoint = { host, port };
    return { name: formatEndpoint(endpoint), endpoint, zone: undefined, machine: host };
  });
}
