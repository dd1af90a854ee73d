/** The nodes of a cluster that is being changed: what they are asked and told, one by one and together. */
import type { Connection } from "../connection";
import type { DeploymentNode } from "../node";
import { Failure, messageOf } from "../../lib/errors";
import type { ClusterView } from "../topology/cluster-view";
import { ViewParser } from "../topology/cluster-view";
import { infoNumber, parseInfo } from "../topology/info";
import { SLOT_COUNT } from "../topology/slots";
import type { MemberState } from "./formation-steps";

/** A node with a connection, under the id it has. */
export interface Member {
  readonly node: DeploymentNode;
  readonly connection: Connection;
  readonly id: string;
}

export async function readMemberStates(
  connections: ReadonlyMap<DeploymentNode, Connection>,
): Promise<{ members: Member[]; states: MemberState[] }> {
  const parser = new ViewParser();
  const states = await Promise.all(
    [...connections].map(async ([node, connection]): Promise<MemberState> => {
      const [text, keys] = await Promise.all([connection.cluster("NODES"), connection.dbsize()]);
      return { name: node.name, zone: node.zone ?? "", view: parser.parse(String(text)), keys };
    }),
  );
  const members = [...connections].map(([node, connection], index) => ({
    node,
    connection,
    id: states[index]?.view.selfId ?? "",
  }));
  return { members, states };
}

/** Introduces a node to another; they know each other some time later. */
export async function meetNode(
  { connection }: Member,
  { endpoint: { host, port }, busPort }: DeploymentNode,
): Promise<void> {
  await connection.call("CLUSTER", "MEET", host, port, busPort ?? port + 10_000);
}

/** Says what is missing until the replica has heard of its primary. */
export async function replicate(replica: Member, primary: Member): Promise<string | undefined> {
  try {
    await replica.connection.cluster("REPLICATE", primary.id);
    return undefined;
  } catch (error) {
    if (/Unknown node/i.test(messageOf(error))) return `${replica.node.name} has not heard of ${primary.node.name}`;
    if (/only replicate a master/i.test(messageOf(error)))
      return `${replica.node.name} has not heard that ${primary.node.name} is a primary`;
    throw new Failure(`${replica.node.name} does not become a replica of ${primary.node.name}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** CLUSTER INFO, field by field. */
export async function readClusterInfo({ connection }: Member): Promise<ReadonlyMap<string, string>> {
  return parseInfo(await connection.cluster("INFO"));
}

/** By the node's own word, those that it shakes hands with among them. @param info its CLUSTER INFO */
export function missingNodes({ node }: Member, info: ReadonlyMap<string, string>, nodes: number): string | undefined {
  const known = infoNumber(info, "cluster_known_nodes");
  return known === nodes ? undefined : `${node.name} knows ${known ?? "?"} of ${nodes} nodes`;
}

/** By the node's own word: whether it sees all slots served, and whether it is in touch with its primary. */
export async function missingService({ node, connection }: Member): Promise<string | undefined> {
  const [cluster, replication] = await Promise.all([connection.cluster("INFO"), connection.info("replication")]);
  const info = parseInfo(cluster);
  const state = info.get("cluster_state");
  if (state !== "ok" || infoNumber(info, "cluster_slots_ok") !== SLOT_COUNT)
    return `${node.name} says the cluster's state is ${state ?? "unknown"}`;
  const values = parseInfo(replication);
  const link = values.get("master_link_status");
  if (link === undefined || link === "up") return undefined;
  const left = infoNumber(values, "master_sync_left_bytes");
  return `${node.name}'s link to its primary is ${link}${left === undefined || left < 0 ? "" : `, ${left} bytes to be read`}`;
}

export async function readViews(members: readonly Member[]): Promise<ClusterView[]> {
  const parser = new ViewParser();
  return Promise.all(members.map(async ({ connection }) => parser.parse(String(await connection.cluster("NODES")))));
}

/** Those that see another cluster than most do. */
export function membersWithDifferentView(members: readonly Member[], views: readonly ClusterView[]): Member[] {
  const counts = new Map<string, number>();
  for (const { topology } of views) counts.set(topology.fingerprint, (counts.get(topology.fingerprint) ?? 0) + 1);
  const [common] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
  return members.filter((_member, index) => views[index]?.topology.fingerprint !== common);
}

/** What keeps the members from all seeing the same cluster, with every node of it healthy and linked to. */
export async function readDisagreement(members: readonly Member[]): Promise<string | undefined> {
  return describeDisagreement(members, await readViews(members));
}

/** @param views of the members, in their order */
export function describeDisagreement(members: readonly Member[], views: readonly ClusterView[]): string | undefined {
  const troubled = members.filter((_member, index) => (views[index]?.unhealthy.length ?? 0) > 0);
  if (troubled.length > 0)
    return `${troubled.length} nodes do not see all others healthy, ${troubled[0]?.node.name ?? ""} among them`;
  // A link that stalls on a busy machine is made anew within moments; news does not travel without it.
  const unlinked = members.filter((_member, index) => (views[index]?.unlinked.length ?? 0) > 0);
  if (unlinked.length > 0)
    return `${unlinked.length} nodes lack a bus link to some other, ${unlinked[0]?.node.name ?? ""} among them`;
  const different = new Set(views.map(({ topology }) => topology.fingerprint)).size;
  return different === 1 ? undefined : `the nodes have ${different} different views of the cluster`;
}
