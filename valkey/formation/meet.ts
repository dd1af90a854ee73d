/** Nodes that know nobody get to know each other: each is introduced to one, the hub, and the hub tells all of all. */
import type { Deadline } from "./deadline";
import type { Member } from "./members";
import { readClusterInfo, meetNode, missingNodes } from "./members";
import type { TemporarySettings } from "./temporary-settings";

/**
 * A node hears of others by the gossip of those it knows, at random and by parts, and speaks to each it has heard of. Where all
 * gossip alike, most of what is said is known already, and two cores with 200 nodes do little else. So all are quiet but the
 * hub, which says everything it knows (percent of the nodes in each message, Valkey 9 and newer; elsewhere a tenth) as often as
 * nodes look at their links.
 */
const TELLING: ReadonlyMap<string, string> = new Map([
  ["cluster-ping-interval", "100"],
  ["cluster-message-gossip-perc", "100"],
]);
const QUIET_GOSSIP = ["cluster-message-gossip-perc", "1"] as const;

/** Of which it is asked first whether they know all others: asking costs the nodes time to get to know each other. */
const SAMPLE = 8;

/**
 * Milliseconds between pings of nodes that have spoken once. Whoever makes a link speaks at once, roles and slots included, so
 * that nobody has to be pinged again; those that missed something are made to ask. Grows as the links do.
 */
export function slowPingIntervalMs(nodes: number): number {
  return Math.min(60_000, Math.max(250, Math.round(nodes ** 2 / 4)));
}

/** Half the server's own node timeout: as Valkey has it. */
const MOST_ASKING_MS = 7500;

/**
 * Milliseconds between pings where nodes are to hear news soon. Their number grows with nodes² / interval, so it grows with
 * the cluster, up to what the default node timeout makes of it: 200 pings per second of a node, and 15,000 of all of them,
 * which two cores can answer; at 40,000, 200 nodes on two cores never get to know each other.
 */
export function fastPingIntervalMs(nodes: number): number {
  return Math.min(MOST_ASKING_MS, Math.max(250, 5 * nodes, Math.round(nodes ** 2 / 15)));
}

/**
 * @param settings of the members, changed for a while; whoever has begun that puts them back
 * @throws Failure saying who does not know whom when the time is up
 */
export async function meetAll(
  members: readonly Member[],
  settings: TemporarySettings,
  awaiting: Deadline,
): Promise<void> {
  const [hub, ...others] = members;
  if (hub === undefined) return;
  const quiet = new Map([["cluster-ping-interval", String(slowPingIntervalMs(members.length))], QUIET_GOSSIP]);
  await settings.set(quiet);
  await Promise.all(others.map((member) => meetNode(member, hub.node)));
  // Who is told by the hub before the hub knows all is told again.
  await awaiting.poll(() => shaking(hub, members.length));
  await settings.set(TELLING, [hub.connection]);
  const sample = members.filter((_member, index) => index % Math.ceil(members.length / SAMPLE) === 0);
  for (const some of [sample, members])
    await Promise.all(
      some.map((member) =>
        awaiting.poll(async () => missingNodes(member, await readClusterInfo(member), members.length)),
      ),
    );
  await settings.set(quiet, [hub.connection]);
}

/** By its own word: whom it does not know yet by their ids. */
async function shaking({ node, connection }: Member, nodes: number): Promise<string | undefined> {
  const known = String(await connection.cluster("NODES"))
    .split("\n")
    .filter((line) => line !== "" && !line.includes("handshake")).length;
  return known >= nodes ? undefined : `${node.name} knows ${known} of ${nodes} nodes`;
}
