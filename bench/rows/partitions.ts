/** Partitions of a cluster whose controller may let replicas take over: no two nodes take writes to one slot. */
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { groupBy } from "../../lib/group-by";
import { nodeCount } from "../../valkey/topology/placement";
import { slotTags } from "../../valkey/topology/slot-tags";
import type { ControlledPods } from "../../tests/support/kubernetes/controlled-pods";
import { type DeployedPods, podLabels } from "../../tests/support/kubernetes/deployed-pods";
import type { Benchmark } from "../workbench";
import { DURABLE, shardsOf, withController } from "../controlled";
import { CLUSTER, KernelFaults, MISSING_KERNEL } from "../fault-driver";
import { atMost, singleRow } from "../row";

const TWO_WRITERS = "partitions-two-writers";
const TAKEOVERS = "partitions-takeovers";
const ELECTIONS = "partitions-elections";
const NAME = "partitioned";
const ROUNDS = 50;
const NODES = nodeCount(CLUSTER.shape);
/** Longer than the nodes need to hold a primary for failed and to elect its replica. */
const CUT_SECONDS = 14;
const AFTER_SECONDS = 12;
const READY_SECONDS = 180;

const SIDES: readonly (readonly [what: string, choose: (pods: DeployedPods, round: number) => Promise<string[]>])[] = [
  ["a primary", async (pods, round) => [(await shardsOf(pods))[round % 3]?.primary ?? ""]],
  ["most primaries", async (pods) => (await shardsOf(pods)).slice(0, 2).map(({ primary }) => primary)],
  ["the nodes of a zone", nodesOfZone],
];

export const partitions: Benchmark = {
  title: "Partitions of a cluster whose controller may let replicas take over",
  ids: [TWO_WRITERS, TAKEOVERS, ELECTIONS],
  missing: MISSING_KERNEL,
  run: async ({ report, emit, signal }) => {
    const takeovers = new Set<string>();
    const [byTakeover, byElection]: [Overlap[], Overlap[]] = [[], []];
    let round = 0;
    const args = { everySeconds: 5, onLostMajority: "takeover" } as const;
    await withController({ name: NAME, kind: CLUSTER, settings: DURABLE, args }, async (controlled) => {
      const { pods } = controlled;
      const { injector } = await pods.subject();
      const faults = await KernelFaults.open(NAME);
      const names = Array.from({ length: NODES }, (_, index) => `${NAME}-${index}`);
      const keys = (await pods.verified()).verdict.shards.map(({ slots: [slots] }) => keyOf(slots?.from ?? 0));
      try {
        for (; round < ROUNDS && !signal.aborted; round++) {
          const [what, choose] = SIDES[round % SIDES.length] ?? ["no node", () => Promise.resolve([])];
          const isKilled = round % 2 === 1;
          const cut = await choose(pods, round);
          const during = record(pods, names, keys, CUT_SECONDS + 2);
          await sleep(2000);
          await cutOff(controlled, faults, cut, round);
          const acks = await during;
          if (isKilled) await injector.kill(cut);
          const living = isKilled ? names.filter((name) => !cut.includes(name)) : names;
          const after = record(pods, living, keys, AFTER_SECONDS);
          await faults.heal();
          acks.push(...(await after));
          const found = overlappingWriters(acks);
          await pods.here.untilReady(podLabels(NAME), NODES, READY_SECONDS);
          await pods.verified();
          const before = takeovers.size;
          for (const event of await controlled.events()) if (event.startsWith("TookOver: ")) takeovers.add(event);
          (takeovers.size > before ? byTakeover : byElection).push(...found);
          const writers = [...groupBy(acks, ({ key }) => key).values()].map(
            (each) => new Set(each.map(({ node }) => node)).size,
          );
          report(
            `${round + 1}: ${what} cut off${isKilled ? ", then killed" : ""}; ${acks.length} writes, to ${writers.join(", ")} nodes; two at once: ${JSON.stringify(found)}; ${takeovers.size} takeovers`,
          );
        }
      } finally {
        await KernelFaults.open(NAME);
      }
    });
    const during = `${round} partitions of a cluster, every second one with servers that are killed meanwhile`;
    const longest = Math.max(0, ...byElection.map(({ milliseconds }) => milliseconds)) / 1000;
    const two = `shards with two nodes that took writes after a takeover, ${during}`;
    const elected = `longest time in which a primary that was cut off and the elected one took writes, ${byElection.length} times in ${during}`;
    emit(
      singleRow({ id: TWO_WRITERS, what: two, unit: "shards" }, byTakeover.length, atMost(0)),
      singleRow({ id: TAKEOVERS, what: `takeovers in ${during}`, unit: "takeovers" }, takeovers.size, atMost(0)),
      // The nodes themselves elect. A primary that is cut off notices it up to half of cluster-node-timeout later.
      singleRow({ id: ELECTIONS, what: elected, unit: "s" }, longest, atMost(DURABLE["cluster-node-timeout"] / 2000)),
    );
  },
};

/** The controller is on either side in turn. */
async function cutOff(controlled: ControlledPods, faults: KernelFaults, cut: string[], round: number): Promise<void> {
  const isCut = ({ metadata }: V1Pod): boolean => cut.includes(metadata?.name ?? "");
  const [servers, controllers] = [await controlled.pods.here.pods(podLabels(NAME)), await controlled.controllerPods()];
  const [inside, outside] = [servers.filter(isCut), servers.filter((pod) => !isCut(pod))];
  (Math.floor(round / 2) % 2 === 0 ? inside : outside).push(...controllers);
  await faults.cut(inside, outside);
}

async function nodesOfZone(pods: DeployedPods, round: number): Promise<string[]> {
  const { facts } = await pods.verified();
  const zones = [...groupBy(facts.nodes, ({ node }) => node.zone).values()];
  return (zones[Math.floor(round / SIDES.length) % zones.length] ?? []).map(({ node }) => node.name);
}

const keyOf = (slot: number): string => `{${slotTags()[slot] ?? ""}}writer`;

/** Writes to each shard from inside each pod, which no partition keeps out. @returns the acknowledged writes */
async function record(
  { here, target }: DeployedPods,
  names: readonly string[],
  keys: readonly string[],
  seconds: number,
): Promise<Ack[]> {
  const round = `TIME\\n${keys.map((key) => `SET ${key} written\\n`).join("")}`;
  const rounds = `end=$(( $(date +%s) + ${seconds} )); while [ $(date +%s) -lt $end ]; do printf "${round}"; sleep 0.2; done`;
  const script = `{ cat $VALKEY_PASSWORD_FILE; echo; ${rounds}; } | valkey-cli --askpass --no-auth-warning`;
  const printed = await Promise.all(
    names.map((name) => here.run(name, target.container, script).catch((error: unknown) => String(error))),
  );
  return names.flatMap((node, index) => acksOf(node, keys, printed[index] ?? ""));
}

interface Ack {
  readonly node: string;
  readonly key: string;
  /** Unix time by the node's clock, milliseconds. */
  readonly at: number;
}

/** Seconds and microseconds, as TIME replies. */
const TIME = /^(\d{10})\n(\d{1,6})$/;

/**
 * The acknowledged writes in what valkey-cli prints for rounds of TIME and one SET for each key. Pure.
 * @param node that was asked
 */
export function acksOf(node: string, keys: readonly string[], printed: string): Ack[] {
  const rounds = printed.split(/(?=^\d{10}\n\d{1,6}\n)/m);
  return rounds.flatMap((round) => {
    // An error is followed by an empty line.
    const [seconds = "", microseconds = "", ...replies] = round.split("\n").filter((line) => line !== "");
    if (!TIME.test(`${seconds}\n${microseconds}`) || replies.length !== keys.length) return [];
    const at = Number(seconds) * 1000 + Number(microseconds) / 1000;
    return keys.flatMap((key, index) => (replies[index] === "OK" ? [{ node, key, at }] : []));
  });
}

interface Overlap {
  readonly key: string;
  /** The node that took the first write, and the one that took its first write while the other still took some. */
  readonly nodes: readonly [string, string];
  readonly milliseconds: number;
}

/** Keys to which a node acknowledged a write between two writes of another node. Pure. */
export function overlappingWriters(acks: readonly Ack[]): Overlap[] {
  return [...groupBy(acks, ({ key }) => key)].flatMap(([key, ofKey]): Overlap[] => {
    const spans = [...groupBy(ofKey, ({ node }) => node)]
      .map(([node, own]) => {
        const times = own.map(({ at }) => at);
        return { node, first: Math.min(...times), last: Math.max(...times) };
      })
      .sort((a, b) => a.first - b.first);
    return spans.flatMap((later, index) =>
      spans.slice(0, index).flatMap(({ node, last }) => {
        const milliseconds = Math.min(last, later.last) - later.first;
        return later.first < last ? [{ key, nodes: [node, later.node], milliseconds }] : [];
      }),
    );
  });
}
