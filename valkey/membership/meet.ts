/** Every node meets a single node, the hub, which then announces all nodes to each other. */
import type { Deadline } from "./deadline";
import { type Member, meetNode, missingNodes, readClusterInfo } from "./members";
import type { TemporarySettings } from "./temporary-settings";

/**
 * Settings of the hub while it announces nodes. Only the hub gossips: if all did, most gossip would repeat known facts,
 * and 200 nodes on two cores would do little else. From Valkey 9 on, each message describes all nodes that the hub
 * knows; in older versions a tenth of them.
 */
const ANNOUNCING: ReadonlyMap<string, string> = new Map([
  ["cluster-ping-interval", "100"],
  ["cluster-message-gossip-perc", "100"],
]);
const LITTLE_GOSSIP = ["cluster-message-gossip-perc", "1"] as const;

/** Asking a sample costs less time than asking all nodes. */
const SAMPLE = 8;

/** A node announces its role and slots as soon as it has a link, so few later pings are needed. */
export function slowPingIntervalMs(nodes: number): number {
  return Math.min(60_000, Math.max(250, Math.round(nodes ** 2 / 4)));
}

/** Half of Valkey's default node timeout, milliseconds. Valkey pings at this interval by default. */
const MAX_FAST_PING_INTERVAL_MS = 7500;

/**
 * At most 200 pings per second from one node and 15,000 from all, which two cores can answer: with 40,000, 200 nodes on
 * two cores never learn of each other.
 */
export function fastPingIntervalMs(nodes: number): number {
  return Math.min(MAX_FAST_PING_INTERVAL_MS, Math.max(250, 5 * nodes, Math.round(nodes ** 2 / 15)));
}

/** The caller restores the settings. @throws Failure that names a node that does not know all others in time */
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

/** Nodes in handshake do not count as known. */
async function missingAfterHandshake({ node, connection }: Member, nodes: number): Promise<string | undefined> {
  const lines = String(await connection.cluster("NODES")).split("\n");
  const known = lines.filter((line) => line !== "" && !line.includes("handshake")).length;
  return known >= nodes ? undefined : `${node.name} knows ${known} of ${nodes} nodes`;
}
