/** Partitions of a cluster whose controller may let replicas take over: no two nodes take writes to one slot. */
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import calculateSlot from "cluster-key-slot";
import { groupBy } from "../../../lib/group-by";
import { nodeCount } from "../../../valkey/topology/placement";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods, podLabels } from "../../support/kubernetes/deployed-pods";
import { KernelFaults, MISSING_KERNEL } from "../../support/kubernetes/kernel-faults";
import type { Ack, Overlap } from "../../support/valkey/two-writers";
import { acksOf, overlappingWriters } from "../../support/valkey/two-writers";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { measureOrSkip } from "../benchmark";
import { atMost, singleRow } from "../row";
import { CLUSTER, shardsOf } from "./heal";

const TWO_WRITERS = "partitions-two-writers";
const TAKEOVERS = "partitions-takeovers";
const ELECTIONS = "partitions-elections";
const IDS = [TWO_WRITERS, TAKEOVERS, ELECTIONS];
const NAME = "partitioned";
const ROUNDS = 50;
const NODE_TIMEOUT_MS = 5000;
const NODES = nodeCount(CLUSTER.shape);
/** Longer than the nodes need to hold a primary for failed and to elect its replica. */
const CUT_SECONDS = 14;
const AFTER_SECONDS = 12;
const READY_SECONDS = 180;

/** The nodes that are cut off from the others. */
const SIDES: readonly (readonly [what: string, choose: (pods: DeployedPods, round: number) => Promise<string[]>])[] = [
  ["a primary", async (pods, round) => [(await shardsOf(pods))[round % 3]?.primary ?? ""]],
  ["most primaries", async (pods) => (await shardsOf(pods)).slice(0, 2).map(({ primary }) => primary)],
  ["the nodes of a zone", nodesOfZone],
];

export const partitions: Benchmark = {
  title: "Partitions of a cluster whose controller may let replicas take over",
  ids: IDS,
  run: (context) => measureOrSkip(context, IDS, MISSING_KERNEL, measure),
};

async function measure({ report, emit, wanted, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const settings = {
    save: "",
    appendonly: true,
    "cluster-node-timeout": NODE_TIMEOUT_MS,
    "repl-diskless-sync-delay": 0,
  };
  const pods = await DeployedPods.open(NAME, CLUSTER, { settings });
  const controlled = await ControlledPods.open(pods, { everySeconds: 5, onLostMajority: "takeover" });
  const takeovers = new Set<string>();
  const [byTakeover, byElection]: [Overlap[], Overlap[]] = [[], []];
  let round = 0;
  try {
    await controlled.untilLook(120, ({ pass }) => pass);
    const { injector } = await pods.subject();
    const faults = await KernelFaults.open(NAME);
    const names = Array.from({ length: NODES }, (_, index) => `${pods.target.name}-${index}`);
    const keys = (await pods.verified()).verdict.shards.map(({ slots }) => keyIn(slots));
    for (; round < ROUNDS && !signal.aborted; round++) {
      const [what, choose] = SIDES[round % SIDES.length] ?? ["no node", () => Promise.resolve([])];
      const isKilled = round % 2 === 1;
      const cut = await choose(pods, round);
      const during = record(pods, names, keys, CUT_SECONDS + 2);
      await sleep(2000);
      await cutOff(controlled, faults, cut, round);
      const acks = await during;
      if (isKilled) await injector.kill(cut);
      const after = record(pods, isKilled ? names.filter((name) => !cut.includes(name)) : names, keys, AFTER_SECONDS);
      await faults.heal();
      acks.push(...(await after));
      const found = overlappingWriters(acks);
      await pods.here.untilReady(podLabels(pods.target.name), NODES, READY_SECONDS);
      await pods.verified();
      const before = takeovers.size;
      for (const event of await controlled.events()) if (event.startsWith("TookOver: ")) takeovers.add(event);
      (takeovers.size > before ? byTakeover : byElection).push(...found);
      const writers = [...groupBy(acks, ({ key }) => key).values()].map(
        (each) => new Set(each.map(({ node }) => node)),
      );
      report(
        `${round + 1}: ${what} cut off${isKilled ? ", then killed" : ""}; ${acks.length} writes, to ${writers.map(({ size }) => size).join(", ")} nodes; two at once: ${JSON.stringify(found)}; ${takeovers.size} takeovers`,
      );
    }
  } finally {
    await KernelFaults.open(NAME);
    await controlled.close();
  }
  const during = `${round} partitions of a cluster, every second one with servers that are killed meanwhile`;
  const longest = Math.max(0, ...byElection.map(({ milliseconds }) => milliseconds)) / 1000;
  const rows = [
    singleRow(
      { id: TWO_WRITERS, what: `shards with two nodes that took writes after a takeover, ${during}`, unit: "shards" },
      byTakeover.length,
      atMost(0),
    ),
    singleRow({ id: TAKEOVERS, what: `takeovers in ${during}`, unit: "takeovers" }, takeovers.size, atMost(0)),
    // The nodes themselves elect. A primary that is cut off notices it up to half of cluster-node-timeout later.
    singleRow(
      {
        ...{ id: ELECTIONS, unit: "s" },
        what: `longest time in which a primary that was cut off and the elected one took writes, ${byElection.length} times in ${during}`,
      },
      longest,
      atMost((NODE_TIMEOUT_MS / 1000) * 0.5),
    ),
  ];
  for (const row of rows) if (wanted.has(row.id)) emit(row);
}

/** The controller is on either side in turn. */
async function cutOff(controlled: ControlledPods, faults: KernelFaults, cut: string[], round: number): Promise<void> {
  const { here, target } = controlled.pods;
  const isCut = ({ metadata }: V1Pod): boolean => cut.includes(metadata?.name ?? "");
  const [servers, controllers] = [await here.pods(podLabels(target.name)), await controlled.controllerPods()];
  const sides = [servers.filter(isCut), servers.filter((pod) => !isCut(pod))];
  sides[Math.floor(round / 2) % 2]?.push(...controllers);
  const [left = [], right = []] = sides.map((side) => side.flatMap(({ status }) => status?.podIP ?? []));
  await faults.cut(left, right);
}

async function nodesOfZone(pods: DeployedPods, round: number): Promise<string[]> {
  const { facts } = await pods.verified();
  const zones = [...groupBy(facts.nodes, ({ node }) => node.zone).values()];
  return (zones[Math.floor(round / SIDES.length) % zones.length] ?? []).map(({ node }) => node.name);
}

/** A key in one of these slots. */
function keyIn(slots: readonly { readonly from: number; readonly to: number }[]): string {
  const has = (key: string): boolean =>
    slots.some(({ from, to }) => from <= calculateSlot(key) && calculateSlot(key) <= to);
  const key = Array.from({ length: 1000 }, (_, index) => `writer-${index}`).find(has);
  if (key === undefined) throw new Error("no key is in the slots of a shard");
  return key;
}

/** Writes to each shard from inside each pod, which no partition keeps out. @returns the acknowledged writes */
async function record(
  pods: DeployedPods,
  names: readonly string[],
  keys: readonly string[],
  seconds: number,
): Promise<Ack[]> {
  const { here, target } = pods;
  const round = `TIME\\n${keys.map((key) => `SET ${key} written\\n`).join("")}`;
  const rounds = `end=$(( $(date +%s) + ${seconds} )); while [ $(date +%s) -lt $end ]; do printf "${round}"; sleep 0.2; done`;
  const script = `{ cat $VALKEY_PASSWORD_FILE; echo; ${rounds}; } | valkey-cli --askpass --no-auth-warning`;
  const printed = await Promise.all(
    names.map((name) => here.run(name, target.container, script).catch((error: unknown) => String(error))),
  );
  return names.flatMap((node, index) => acksOf(node, keys, printed[index] ?? ""));
}
