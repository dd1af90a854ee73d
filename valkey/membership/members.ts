import { Failure, messageOf } from "../../lib/errors";
import { counted } from "../../lib/units";
import type { Connection } from "../connection";
import { readKeyCount } from "../databases";
import type { DeploymentNode } from "../node";
import { type ClusterView, ViewParser } from "../topology/cluster-view";
import { infoNumber, parseInfo } from "../topology/replies";
import { SLOT_COUNT } from "../topology/slots";
import type { MemberState } from "./member-state";

export interface Member {
  readonly node: DeploymentNode;
  readonly connection: Connection;
  readonly id: string;
}

/** This function throws for an unknown name, because an unknown name is an error of this program. */
export function memberNamed(members: readonly Member[]): (name: string) => Member {
  const byName = new Map(members.map((member) => [member.node.name, member]));
  return (name) => {
    const found = byName.get(name);
    if (found === undefined) throw new Error(`no member is named ${name}`);
    return found;
  };
}

export async function readMemberStates(
  connections: ReadonlyMap<DeploymentNode, Connection>,
): Promise<{ members: Member[]; states: MemberState[] }> {
  const parser = new ViewParser();
  const states = await Promise.all(
    [...connections].map(async ([node, connection]): Promise<MemberState> => {
      const [text, keys] = await Promise.all([connection.cluster("NODES"), readKeyCount(connection)]);
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

/** The two nodes know each other only some time after the reply. */
export async function meetNode(
  { connection }: Member,
  { endpoint: { host, port }, busPort }: DeploymentNode,
): Promise<void> {
  await connection.call("CLUSTER", "MEET", host, port, busPort ?? port + 10_000);
}

/** @returns a problem if the replica does not know its primary yet. @throws Failure when refused for another reason */
export async function replicate(replica: Member, primary: Member): Promise<string | undefined> {
  const names = { replica: replica.node.name, primary: primary.node.name };
  try {
    await replica.connection.cluster("REPLICATE", primary.id);
    return undefined;
  } catch (error) {
    const message = messageOf(error);
    if (/Unknown node/i.test(message)) return `${names.replica} does not know ${names.primary} yet`;
    if (/only replicate a master/i.test(message)) return `${names.replica} still knows ${names.primary} as a replica`;
    throw new Failure(`${names.replica} cannot become a replica of ${names.primary}: ${message}`, { cause: error });
  }
}

export async function readClusterInfo({ connection }: Member): Promise<ReadonlyMap<string, string>> {
  return parseInfo(await connection.cluster("INFO"));
}

/** Unlike `missingAfterHandshake`, nodes in handshake count as known. @param info reply of the node to CLUSTER INFO */
export function missingNodes({ node }: Member, info: ReadonlyMap<string, string>, nodes: number): string | undefined {
  const known = infoNumber(info, "cluster_known_nodes");
  return known === nodes ? undefined : `${node.name} knows ${known ?? "?"} of ${nodes} nodes`;
}

export async function missingService({ node, connection }: Member): Promise<string | undefined> {
  const [clusterText, replicationText] = await Promise.all([
    connection.cluster("INFO"),
    connection.info("replication"),
  ]);
  const cluster = parseInfo(clusterText);
  const state = cluster.get("cluster_state");
  if (state !== "ok" || infoNumber(cluster, "cluster_slots_ok") !== SLOT_COUNT) {
    return `${node.name} reports cluster_state ${state ?? "unknown"}`;
  }
  const replication = parseInfo(replicationText);
  const link = replication.get("master_link_status");
  if (link === undefined || link === "up") return undefined;
  const left = infoNumber(replication, "master_sync_left_bytes");
  const progress = left === undefined || left < 0 ? "" : `, ${left} bytes of the synchronization remain`;
  return `${node.name}'s link to its primary is ${link}${progress}`;
}

export async function readViews(members: readonly Member[]): Promise<ClusterView[]> {
  const parser = new ViewParser();
  return Promise.all(members.map(async ({ connection }) => parser.parse(String(await connection.cluster("NODES")))));
}

/** @param views views in the order of the members */
export function membersWithDifferentView(members: readonly Member[], views: readonly ClusterView[]): Member[] {
  const counts = new Map<string, number>();
  for (const { topology } of views) counts.set(topology.fingerprint, (counts.get(topology.fingerprint) ?? 0) + 1);
  const [common] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
  return members.filter((_member, index) => views[index]?.topology.fingerprint !== common);
}

export async function readDisagreement(members: readonly Member[]): Promise<string | undefined> {
  return describeDisagreement(members, await readViews(members));
}

export function describeDisagreement(members: readonly Member[], views: readonly ClusterView[]): string | undefined {
  const withView = (isMeant: (view: ClusterView) => boolean): Member[] =>
    members.filter((_member, index) => {
      const view = views[index];
      return view !== undefined && isMeant(view);
    });
  const seeing = withView(({ unhealthy }) => unhealthy.length > 0);
  if (seeing.length > 0)
    return `${counted(seeing.length, "node reports", "nodes report")} an unhealthy node; one of the reporting nodes is ${seeing[0]?.node.name ?? ""}`;
  // On a busy machine, a bus link may break. The nodes soon restore it, but learn nothing over it until then.
  const unlinked = withView((view) => view.unlinked.length > 0);
  if (unlinked.length > 0) {
    return `${counted(unlinked.length, "node lacks", "nodes lack")} a bus link to at least one other node; one node that lacks a link is ${unlinked[0]?.node.name ?? ""}`;
  }
  const different = new Set(views.map(({ topology }) => topology.fingerprint)).size;
  return different === 1 ? undefined : `the nodes have ${different} different views of the cluster`;
}
