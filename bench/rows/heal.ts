/** Faults that a controller repairs, under writes, and a controller that is deleted in the middle of a repair. */
import { setTimeout as sleep } from "node:timers/promises";
import calculateSlot from "cluster-key-slot";
import { objectNames } from "../../components/kubernetes/names";
import { Failure } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import type { ControlledPods } from "../../tests/support/kubernetes/controlled-pods";
import type { PodsKind } from "../../tests/support/kubernetes/deployed-pods";
import type { ObservedWrites } from "../../tests/support/kubernetes/observer-main";
import { type Benchmark, type BenchmarkContext, NO_KUBERNETES } from "../workbench";
import {
  describeWrites,
  isHealthy,
  moveReplica,
  observe,
  rowsOfWrites,
  shardOf,
  shardsOf,
  untilHealthy,
  untilReplaced,
  withController,
  WRITES_PER_SECOND,
} from "../controlled";
import { CLUSTER, SENTINELS } from "../fault-driver";
import { atMost, singleRow } from "../row";

const ROUNDS = 10;
/** A controller repairs at most six times an hour, so it is replaced before. */
const REPAIRS_PER_CONTROLLER = 5;
const POLL_MS = 1000;
const AFTER_MS = 3000;
/**
 * Time without a failover after which the controller lets replicas take over for an even spread, and time without work
 * on an open slot after which its migration counts as abandoned.
 */
const QUIET_MS = 5 * 60_000;
const SETTINGS = { save: "", "repl-diskless-sync-delay": 0 };

type Check = () => Promise<void>;

interface Fault {
  readonly id: string;
  readonly what: string;
  readonly kind?: PodsKind;
  /** Target of the longest time, seconds. */
  readonly limit: number;
  readonly strike: (controlled: ControlledPods, round: number, checks: Check[]) => Promise<void>;
  /** Part of the time for which the controller waits on purpose, milliseconds. @default 0 */
  readonly quietMs?: number;
}

const FAULTS: readonly Fault[] = [
  { id: "node", what: "a replica of a cluster comes back without its data", limit: 60, strike: emptyNode },
  { id: "replica", what: "a replica follows the wrong primary", limit: 60, strike: moveReplica },
  { id: "sentinel", what: "a Sentinel monitors a replica", kind: SENTINELS, limit: 60, strike: misleadSentinel },
  {
    ...{ id: "zone", what: "two primaries in one zone, from five minutes after the last failover" },
    ...{ limit: 90, strike: crowdZone, quietMs: QUIET_MS },
  },
  {
    ...{ id: "slots", what: "an abandoned migration of a slot, from the end of the five minutes without work on it" },
    ...{ limit: 60, strike: abandonSlot, quietMs: QUIET_MS },
  },
  { id: "settings", what: "a setting that is changed by hand on one server", limit: 60, strike: changeSetting },
];

export const heal: readonly Benchmark[] = FAULTS.map((fault) => ({
  title: "Faults that a controller repairs",
  ids: ["seconds", "lost", "failed"].map((metric) => `heal-${fault.id}-${metric}`),
  missing: NO_KUBERNETES,
  run: (context) => measure(fault, context),
}));

async function measure(fault: Fault, { report, emit, signal }: BenchmarkContext): Promise<void> {
  const name = `heal-${fault.id}`;
  const seconds: number[] = [];
  const writes: ObservedWrites[] = [];
  const kind = fault.kind ?? CLUSTER;
  const args = { repair: true, repairSettings: true };
  await withController({ name, kind, args, settings: SETTINGS, ephemeral: true }, async (controlled) => {
    const observer = await observe(controlled.pods);
    for (let round = 1; round <= ROUNDS && !signal.aborted; round++) {
      if (round % REPAIRS_PER_CONTROLLER === 0) {
        await controlled.renew();
        await controlled.untilLook(120, ({ pass }) => pass);
      }
      let took = 0;
      const observed = await observer.during(async () => {
        const began = performance.now();
        const checks: Check[] = [];
        await fault.strike(controlled, round, checks);
        await untilHealthy(controlled.pods);
        took = (performance.now() - began - (fault.quietMs ?? 0)) / 1000;
        for (const check of checks) await check();
      }, AFTER_MS);
      seconds.push(took);
      writes.push(observed);
      const metrics = (await controlled.ask("/metrics")).split("\n");
      const repairs = metrics.filter((line) => line.startsWith("valkey_repairs")).join(", ");
      report(`${name}, round ${round}: ${took.toFixed(1)} s, ${describeWrites(observed)}; ${repairs}`);
    }
  });
  const what = `${fault.what}, ${seconds.length} times under ${WRITES_PER_SECOND} writes/s`;
  const longest = { id: `${name}-seconds`, what: `${what}: longest time until all assertions hold`, unit: "s" };
  emit(singleRow(longest, Math.max(...seconds), atMost(fault.limit)), ...rowsOfWrites(name, what, writes));
}

/** Deletes the pod of a replica without grace; its volume goes with it. */
async function emptyNode({ pods }: ControlledPods, round: number): Promise<void> {
  const shards = await shardsOf(pods);
  const { namespace, core } = pods.here;
  const name = shards[round % shards.length]?.replica ?? "";
  await untilReplaced(pods, name, 60, () => core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 }));
}

async function misleadSentinel({ pods }: ControlledPods, round: number): Promise<void> {
  const { target, here } = pods;
  const [shard] = await shardsOf(pods);
  const { headless, sentinel } = objectNames(target.name);
  const host = `${shard?.replica ?? ""}.${headless}.${target.namespace}.svc.cluster.local`;
  const commands = [`SENTINEL REMOVE ${target.name}`, `SENTINEL MONITOR ${target.name} ${host} 6379 2`];
  const tell = `{ cat \${VALKEY_PASSWORD_FILE%/*}/sentinel-password; echo; printf '${commands.join("\\n")}\\n'; } | valkey-cli -p 26379 --user admin --askpass --no-auth-warning`;
  await here.run(`${sentinel}-${round % 3}`, "sentinel", tell);
}

/** Lets replicas take over until two primaries are in one zone. */
async function crowdZone({ pods }: ControlledPods): Promise<void> {
  const { facts } = await pods.verified();
  const zones = new Map(facts.nodes.map(({ node }) => [node.name, node.zone]));
  const shards = await shardsOf(pods);
  const used = new Set(shards.map(({ primary }) => zones.get(primary)));
  const crowding = shards.find(
    ({ primary, replica }) => zones.get(replica) !== zones.get(primary) && used.has(zones.get(replica)),
  );
  if (crowding === undefined) throw new Failure("no replica is in a zone with another primary");
  await pods.withNodes(async (at) => {
    await at(crowding.replica).call("CLUSTER", "FAILOVER");
    while (!String(await at(crowding.replica).call("ROLE")).startsWith("master")) await sleep(POLL_MS);
  });
}

async function changeSetting({ pods }: ControlledPods, round: number): Promise<void> {
  await pods.withNodes(async (_, all) => {
    await all[round % all.length]?.config("SET", "save", "3600 1");
  });
}

const KEYS = 20;
/** Fewer slots than a range has that the observer's slot begins. */
const ROOM = 1000;

/**
 * Opens a slot with keys, as a tool does that stops right there. In every second round, clients have written half of
 * the keys to the target before. No other client may write to this slot: the number of its keys must stay the same.
 * @param checks receives a check that no key is lost
 */
async function abandonSlot({ pods }: ControlledPods, round: number, checks: Check[]): Promise<void> {
  const { shards } = (await pods.verified()).verdict;
  const [source, target] = [shards[round % shards.length], shards[(round + 1) % shards.length]];
  // Slots of former rounds may be ranges of their own.
  const range = source?.slots.find(({ from, to }) => to - from > ROOM);
  const slot = (range?.from ?? 0) + ROOM - round;
  const keys: string[] = [];
  for (let index = 0; keys.length < KEYS; index++)
    if (calculateSlot(`abandoned-${index}`) === slot) keys.push(`abandoned-${index}`);
  await pods.withNodes(async (at) => {
    const [from, to] = [at(source?.primary), at(target?.primary)];
    const isHalfMoved = round % 2 === 1;
    for (const key of isHalfMoved ? keys.slice(0, KEYS / 2) : keys) await from.set(key, "before");
    await to.call("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await from.call("CLUSTER", "MYID")));
    await from.call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(await to.call("CLUSTER", "MYID")));
    for (const key of isHalfMoved ? keys.slice(KEYS / 2) : []) {
      await to.call("ASKING");
      await to.set(key, "meanwhile");
    }
  });
  checks.push(() =>
    pods.withNodes(async (at) => {
      const after = (await pods.verified()).verdict.shards;
      const owner = after[shardOf(after, slot)]?.primary;
      const found = await Promise.all(keys.map((key) => at(owner).exists(key)));
      const missing = found.filter((count) => count === 0).length;
      if (missing > 0) throw new Failure(`${missing} of ${KEYS} keys of slot ${slot} are gone`);
    }),
  );
}

const DELETED = "controller-deleted";
/** A repair may be over before the Deployment is deleted. Such a try does not count. */
const MOST_TRIES = 30;
const BEGIN_MS = 180_000;
/** Longest time from the beginning of a repair until the Deployment is deleted. */
const INTO_REPAIR_MS = 300;
/** The Lease of a killed controller is free after a minute, and a repair needs half a minute of looks. */
const LIMIT_SECONDS = 180;
const REPAIRED = [resetReplica, moveReplica];

export const controllerDeleted: Benchmark = {
  title: "A controller that is deleted in the middle of a repair",
  ids: ["seconds", "lost", "failed"].map((metric) => `${DELETED}-${metric}`),
  missing: NO_KUBERNETES,
  run: async ({ report, emit, signal }) => {
    const writes: ObservedWrites[] = [];
    const seconds: number[] = [];
    const own = { name: "headless", kind: CLUSTER, args: { everySeconds: 5 }, settings: SETTINGS, ephemeral: true };
    await withController(own, async (controlled) => {
      const { pods } = controlled;
      const observer = await observe(pods);
      for (let round = 0; round < MOST_TRIES && seconds.length < ROUNDS && !signal.aborted; round++) {
        // A controller makes at most six repairs an hour.
        await controlled.renew();
        await controlled.untilLook(120, ({ pass }) => pass);
        const isKilled = round % 2 === 1;
        const waited = Math.random() * INTO_REPAIR_MS;
        let [took, wasOver] = [0, false];
        const observed = await observer.during(async () => {
          await REPAIRED[Math.floor(round / 2) % REPAIRED.length]?.(controlled, round);
          await holdsInTime(() => controlled.isLeaseHeld(), { timeoutMs: BEGIN_MS, intervalMs: 50 });
          await sleep(waited);
          const began = performance.now();
          await controlled.deleteDeployment(isKilled);
          wasOver = await isHealthy(pods);
          await controlled.createDeployment();
          await untilHealthy(pods);
          took = (performance.now() - began) / 1000;
        }, AFTER_MS);
        writes.push(observed);
        if (!wasOver) seconds.push(took);
        const how = `${isKilled ? ", pod killed" : ""}${wasOver ? " that was over" : ""}`;
        report(
          `${round + 1}: Deployment deleted ${(waited / 1000).toFixed(1)} s into a repair${how}; all assertions hold after ${took.toFixed(1)} s; ${describeWrites(observed)}`,
        );
      }
    });
    const what = `the controller's Deployment is deleted in the middle of a repair, ${seconds.length} times under ${WRITES_PER_SECOND} writes/s`;
    const longest = { id: `${DELETED}-seconds`, what: `${what}: longest time until all assertions hold`, unit: "s" };
    emit(singleRow(longest, Math.max(...seconds), atMost(LIMIT_SECONDS)), ...rowsOfWrites(DELETED, what, writes));
  },
};

/** Makes a replica forget its data and its cluster, so that it has a new node ID. */
async function resetReplica({ pods }: ControlledPods, round: number): Promise<void> {
  const shards = await shardsOf(pods);
  const replica = shards[round % shards.length]?.replica;
  await pods.withNodes((at) => at(replica).call("CLUSTER", "RESET", "HARD"));
}
