/** A day of a deployment with its controller, compressed: random faults one after the other, and nobody who helps. */
import calculateSlot from "cluster-key-slot";
import { Failure, messageOf } from "../../../lib/errors";
import { holdsInTime } from "../../../lib/polling";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods } from "../../support/kubernetes/deployed-pods";
import { KernelFaults, MISSING_KERNEL } from "../../support/kubernetes/kernel-faults";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { measureOrSkip } from "../benchmark";
import { atMost, singleRow } from "../row";
import { CLUSTER, moveReplica, shardsOf, untilHealthy } from "./heal";
import type { Disturbance } from "./left-alone";
import { DISTURBANCES } from "./left-alone";

const NAME = "soaked";
const SECONDS_ID = "controlled-soak-seconds";
const KEYS_ID = "controlled-soak-keys";
/** Faults: one every 24 minutes of a day. */
const ROUNDS = 60;
const KEYS_PER_ROUND = 50;
/** After a cut, TCP sends again only after a while that grows with the length of the cut. */
const COPIED_MS = 60_000;
/** Longest wait of one command. A connection gives up a command that takes longer than its time limit. */
const WAIT_MS = 1000;
/** A deployment that takes longer until it passes would need a hand. */
const SERVED_MS = 600_000;
const MOST_INTERRUPTIONS = 10;
/** The longest time that a freeze or a cut lasts. */
const MOST_SECONDS = 30;

const FAULTS: readonly (readonly [what: string, strike: Disturbance])[] = [
  ...DISTURBANCES,
  ["a replica follows the wrong primary", ({ controlled, round }) => moveReplica(controlled, round)],
  ["the server of a primary is killed", killPrimary],
];

export const controlledSoak: Benchmark = {
  title: "A day with a controller, compressed",
  ids: [SECONDS_ID, KEYS_ID],
  run: (context) => measureOrSkip(context, [SECONDS_ID, KEYS_ID], MISSING_KERNEL, measure),
};

async function measure({ report, emit, wanted, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const settings = { save: "", appendonly: true, "cluster-node-timeout": 5000, "repl-diskless-sync-delay": 0 };
  const pods = await DeployedPods.open(NAME, CLUSTER, { settings });
  const controlled = await ControlledPods.open(pods, {});
  const written: string[] = [];
  let [round, seconds, missing] = [0, 0, 0];
  try {
    await controlled.untilLook(120, ({ pass }) => pass);
    const faults = await KernelFaults.open(NAME);
    for (let interruptions = 0; round < ROUNDS && !signal.aborted;) {
      const [what, strike] = FAULTS[Math.floor(Math.random() * FAULTS.length)] ?? [];
      await untilServed(pods);
      written.push(...(await writeKeys(pods, round)));
      const shards = await shardsOf(pods);
      const seconds = 1 + Math.random() * MOST_SECONDS;
      try {
        await strike?.({ controlled, faults, shards, round, seconds });
        report(`${++round}: ${what ?? ""} (${seconds.toFixed(0)} s where it lasts)`);
      } catch (error) {
        // What disturbs may itself be disturbed, for example by an API server that does not answer on a busy machine.
        // Such a fault does not count.
        signal.throwIfAborted();
        if (++interruptions > MOST_INTERRUPTIONS) throw error;
        report(`interrupted: ${what ?? ""}: ${messageOf(error)}`);
      } finally {
        await faults.heal();
      }
    }
    const ended = performance.now();
    await untilHealthy(pods);
    seconds = (performance.now() - ended) / 1000;
    missing = await countMissing(pods, written);
    for (const event of await controlled.events()) report(event);
  } finally {
    await controlled.close();
  }
  const what = `a cluster with its controller, after ${round} random faults`;
  const rows = [
    singleRow({ id: SECONDS_ID, what: `${what}: until all assertions hold`, unit: "s" }, seconds, atMost(600)),
    singleRow(
      { id: KEYS_ID, what: `${what}: missing of ${written.length} keys that a replica had`, unit: "keys" },
      missing,
      atMost(0),
    ),
  ];
  for (const row of rows) if (wanted.has(row.id)) emit(row);
}

/** Waits until the deployment serves all slots. Nobody helps it. */
async function untilServed(pods: DeployedPods): Promise<void> {
  const isServed = (): Promise<boolean> =>
    pods.verified().then(
      () => true,
      () => false,
    );
  if (!(await holdsInTime(isServed, { timeoutMs: SERVED_MS, intervalMs: 1000 })))
    throw new Failure(`${NAME} does not pass verification`);
}

/** Writes keys to all shards, each to a replica too. @returns the keys */
async function writeKeys(pods: DeployedPods, round: number): Promise<string[]> {
  const keys = Array.from({ length: KEYS_PER_ROUND }, (_, index) => `round-${round}-${Date.now()}-${index}`);
  await withPrimaries(pods, async (primaryOf) => {
    for (const key of keys) {
      await primaryOf(key).set(key, "value");
      const isCopied = async (): Promise<boolean> => (await primaryOf(key).wait(1, WAIT_MS)) >= 1;
      if (!(await holdsInTime(isCopied, { timeoutMs: COPIED_MS, intervalMs: 1 })))
        throw new Failure(`no replica has ${key}`);
    }
  });
  return keys;
}

function countMissing(pods: DeployedPods, keys: readonly string[]): Promise<number> {
  return withPrimaries(pods, async (primaryOf) => {
    const found = await Promise.all(keys.map((key) => primaryOf(key).exists(key)));
    return found.filter((count) => count === 0).length;
  });
}

type Connection = Parameters<Parameters<DeployedPods["withNodes"]>[0]>[1][number];

async function withPrimaries<T>(
  pods: DeployedPods,
  use: (primaryOf: (key: string) => Connection) => Promise<T>,
): Promise<T> {
  const { shards } = (await pods.verified()).verdict;
  return pods.withNodes((at) =>
    use((key) => {
      const slot = calculateSlot(key);
      return at(shards.find(({ slots }) => slots.some(({ from, to }) => from <= slot && slot <= to))?.primary);
    }),
  );
}

async function killPrimary({ controlled: { pods }, shards, round }: Parameters<Disturbance>[0]): Promise<void> {
  const { injector } = await pods.subject();
  await injector.kill([shards[round % shards.length]?.primary ?? ""]);
}
