/** A controller whose Deployment is deleted in the middle of a repair, under writes. */
import { setTimeout as sleep } from "node:timers/promises";
import { holdsInTime } from "../../../lib/polling";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods } from "../../support/kubernetes/deployed-pods";
import type { ObservedWrites } from "../../support/kubernetes/observer-main";
import { KUBECONFIG } from "../../support/kubernetes/throw-away";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { measureOrSkip } from "../benchmark";
import { atMost, singleRow } from "../row";
import { CLUSTER, isHealthy, moveReplica, observe, shardsOf, untilHealthy, WRITES_PER_SECOND } from "./heal";

const SECONDS_ID = "controller-deleted-seconds";
const LOST_ID = "controller-deleted-lost";
const FAILED_ID = "controller-deleted-failed";
const IDS = [SECONDS_ID, LOST_ID, FAILED_ID];
const ROUNDS = 10;
/** A repair may be over before the Deployment is deleted. Such a try does not count. */
const MOST_TRIES = 30;
const BEGIN_MS = 180_000;
/** Longest time from the beginning of a repair until the Deployment is deleted. */
const INTO_REPAIR_MS = 300;
const POLL_MS = 50;
const AFTER_MS = 3000;
/** The Lease of a killed controller is free after a minute, and a repair needs half a minute of looks. */
const LIMIT_SECONDS = 180;
const FAULTS = [resetReplica, moveReplica];
const MISSING = KUBECONFIG === undefined ? "VALKEY_TEST_KUBECONFIG names no throw-away cluster" : undefined;

export const controllerDeleted: Benchmark = {
  title: "A controller that is deleted in the middle of a repair",
  ids: IDS,
  run: (context) => measureOrSkip(context, IDS, MISSING, measure),
};

async function measure({ report, emit, wanted, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const settings = { save: "", "repl-diskless-sync-delay": 0 };
  const pods = await DeployedPods.open("headless", CLUSTER, { settings, ephemeral: true });
  const controlled = await ControlledPods.open(pods, { everySeconds: 5 });
  const writes: ObservedWrites[] = [];
  const seconds: number[] = [];
  try {
    const observer = await observe(pods);
    for (let round = 0; round < MOST_TRIES && seconds.length < ROUNDS && !signal.aborted; round++) {
      // A controller makes at most six repairs an hour.
      await controlled.renew();
      await controlled.untilLook(120, ({ pass }) => pass);
      const isKilled = round % 2 === 1;
      const waited = Math.random() * INTO_REPAIR_MS;
      let [took, wasOver] = [0, false];
      const observed = await observer.during(async () => {
        await FAULTS[Math.floor(round / 2) % FAULTS.length]?.(controlled, round);
        await holdsInTime(() => controlled.isLeaseHeld(), { timeoutMs: BEGIN_MS, intervalMs: POLL_MS });
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
      const { acknowledged, failed, lost } = observed;
      report(
        `${round + 1}: Deployment deleted ${(waited / 1000).toFixed(1)} s into a repair${isKilled ? ", pod killed" : ""}${wasOver ? " that was over" : ""}; all assertions hold after ${took.toFixed(1)} s; ${lost} lost and ${failed} failed of ${acknowledged + failed} writes`,
      );
    }
  } finally {
    await controlled.close();
  }
  const what = `the controller's Deployment is deleted in the middle of a repair, ${seconds.length} times under ${WRITES_PER_SECOND} writes/s`;
  const total = (metric: "lost" | "failed"): number => writes.reduce((sum, each) => sum + each[metric], 0);
  const rows = [
    singleRow(
      { id: SECONDS_ID, what: `${what}: longest time until all assertions hold`, unit: "s" },
      Math.max(...seconds),
      atMost(LIMIT_SECONDS),
    ),
    singleRow({ id: LOST_ID, what: `${what}: lost`, unit: "writes" }, total("lost"), atMost(0)),
    singleRow({ id: FAILED_ID, what: `${what}: failed`, unit: "writes" }, total("failed"), atMost(0)),
  ];
  for (const row of rows) if (wanted.has(row.id)) emit(row);
}

/** Makes a replica forget its data and its cluster, so that it has a new node ID. */
async function resetReplica({ pods }: ControlledPods, round: number): Promise<void> {
  const shards = await shardsOf(pods);
  const replica = shards[round % shards.length]?.replica;
  await pods.withNodes(async (at) => {
    await at(replica).call("CLUSTER", "RESET", "HARD");
  });
}
