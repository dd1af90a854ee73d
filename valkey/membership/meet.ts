/**
 * Makes nodes that do not know each other meet. Every node meets a single node, the hub. The hub then announces all
 * nodes to each other.
 */
import type { Deadline } from "./deadline";
import type { Member } from "./members";
import { meetNode, missingNodes, readClusterInfo } from "./members";
import type { TemporarySettings } from "./temporary-settings";

/**
 * Settings of the hub while it announces the nodes.
 *
 * Nodes learn of other nodes by gossip: messages that describe a random part of the nodes that the sender knows. If all
 * nodes gossip equally, most of the gossip repeats what the receiver already knows, and 200 nodes on two cores do
 * little else.
 *
 * So only the hub gossips. Each of its messages describes all nodes that it knows (from Valkey 9; a tenth of them in
 * older versions). It pings as often as nodes check their links.
 */
const ANNOUNCING: ReadonlyMap<string, string> = new Map([
  ["cluster-ping-interval", "100"],
  ["cluster-message-gossip-perc", "100"],
]);
const LITTLE_GOSSIP = ["cluster-message-gossip-perc", "1"] as const;

/** Number of nodes that are first asked whether they know all other nodes. Asking only a sample costs less time. */
const SAMPLE = 8;

/**
 * Milliseconds between pings of nodes that have announced themselves. A node announces its role and slots as soon as it
 * has a link, so few later pings are needed. If a node misses an announcement, it is made to ping more often. The
 * interval grows with the number of links.
 */
export function slowPingIntervalMs(nodes: number): number {
  return Math.min(60_000, Math.max(250, Math.round(nodes ** 2 / 4)));
}

/** Half of Valkey's default node timeout, milliseconds. It is Valkey's default interval between pings. */
const MAX_FAST_PING_INTERVAL_MS = 7500;

/**
 * Milliseconds between pings of nodes that should learn of changes soon.
 *
 * The number of pings per second is proportional to nodes² / interval, so the interval grows with the cluster, up to
 * Valkey's default. The result is at most 200 pings per second from one node and 15,000 from all nodes, which two cores
 * can answer. With 40,000 pings per second, 200 nodes on two cores never learn of each other.
 */
export function fastPingIntervalMs(nodes: number): number {
  return Math.min(MAX_FAST_PING_INTERVAL_MS, Math.max(250, 5 * nodes, Math.round(nodes ** 2 / 15)));
}

/**
 * Makes all members meet, and waits until each of them knows all others.
 * @param settings settings of the members; this function changes them, and the caller restores them
 * @throws Failure that names a node that does not know all other nodes when the time is up
 */
export async function meetAll(
  members: readonly Member[],
  settings: TemporarySettings,
  deadline: Deadline,
): Promise<void> {
  const [hub, ...others] = members;
  if (hub === undefined) return;
  const quiet = new Map([["cluster-ping-interval", String(slowPingIntervalMs(members.length))], LITTLE_GOSSIP]);
  await settings.set(quiet);
  await Promise.all(others.map((member) => meetNode(member, hub.node)));
  // The hub must know all nodes before it announces them. Otherwise it would have to announce them twice.
  await deadline.poll(() => missingAfterHandshake(hub, members.length));
  await settings.set(ANNOUNCING, [hub.connection]);
  const sample = members.filter((_member, index) => index % Math.ceil(members.length / SAMPLE) === 0);
  const knowsAll = (member: Member): Promise<void> =>
    deadline.poll(async () => missingNodes(member, await readClusterInfo(member), members.length));
  await Promise.all(sample.map(knowsAll));
  await Promise.all(members.map(knowsAll));
  await settings.set(quiet, [hub.connection]);
}

/**
 * Message while the node does not know all nodes; undefined when it knows all of them. Nodes in handshake do not count
 * as known.
 */
async function missingAfterHandshake({ node, connection }: Member, nodes: number): Promise<string | undefined> {
  const lines = String(await connection.cluster("NODES")).split("\n");
  const known = lines.filter((line) => line !== "" && !line.includes("handshake")).length;
  return known >= nodes ? undefined : `${node.name} knows ${known} of ${nodes} nodes`;
}
