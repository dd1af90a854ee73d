/**
 * Makes nodes meet that do not know each other. Every node meets a single node, which is called the hub. The hub then
 * announces all nodes to each other.
 */
import type { Deadline } from "./deadline";
import type { Member } from "./members";
import { meetNode, missingNodes, readClusterInfo } from "./members";
import type { TemporarySettings } from "./temporary-settings";

/**
 * Settings of the hub while the hub announces the nodes.
 *
 * Nodes learn of other nodes by gossip: a message describes some of the nodes that the sender knows, chosen at random.
 * If all nodes gossip equally, most of the gossip repeats facts that the receiver already knows. Then 200 nodes on two
 * cores do little else.
 *
 * For this reason only the hub gossips. From Valkey 9 on, each message of the hub describes all nodes that the hub
 * knows. In older versions, a message describes a tenth of these nodes. The hub pings as often as nodes check their
 * links.
 */
const ANNOUNCING: ReadonlyMap<string, string> = new Map([
  ["cluster-ping-interval", "100"],
  ["cluster-message-gossip-perc", "100"],
]);
const LITTLE_GOSSIP = ["cluster-message-gossip-perc", "1"] as const;

/**
 * Number of nodes that are asked first whether they know all other nodes. Asking a sample costs less time than asking
 * all nodes.
 */
const SAMPLE = 8;

/**
 * Milliseconds between pings of nodes that have announced themselves. A node announces its role and slots as soon as it
 * has a link, so few later pings are needed. If a node misses an announcement, all nodes must ping more often. The
 * interval grows with the number of links.
 */
export function slowPingIntervalMs(nodes: number): number {
  return Math.min(60_000, Math.max(250, Math.round(nodes ** 2 / 4)));
}

/** Half of Valkey's default node timeout, milliseconds. Valkey pings at this interval by default. */
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
 * Makes all given nodes meet, and waits until each of these nodes knows all others.
 * @param settings settings of the nodes. This function changes the settings, and the caller restores them
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
 * Message if the node does not know all nodes. Undefined if the node knows all nodes. Nodes in handshake do not count
 * as known.
 */
async function missingAfterHandshake({ node, connection }: Member, nodes: number): Promise<string | undefined> {
  const lines = String(await connection.cluster("NODES")).split("\n");
  const known = lines.filter((line) => line !== "" && !line.includes("handshake")).length;
  return known >= nodes ? undefined : `${node.name} knows ${known} of ${nodes} nodes`;
}
