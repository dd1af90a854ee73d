/** A controller whose Deployment is deleted in the middle of a repair, under writes. */
import { setTimeout as sleep } from "node:timers/promises";
import { ControlledPods } from "../../support/kubernetes/controlled-pods";
import { DeployedPods } from "../../support/kubernetes/deployed-pods";
import type { ObservedWrites } from "../../support/kubernetes/observer-main";
import { KUBECONFIG } from "../../support/kubernetes/throw-away";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { measureOrSkip } from "../benchmark";
import { atMost, singleRow } from "../row";
import { changeSetting, CLUSTER, moveReplica, observe, untilHealthy, WRITES_PER_SECOND } from "./heal";

const SECONDS_ID = "controller-deleted-seconds";
const LOST_ID = "controller-deleted-lost";
const FAILED_ID = "controller-deleted-failed";
const IDS = [SECONDS_ID, LOST_ID, FAILED_ID];
const ROUNDS = 10;
const BEGIN_SECONDS = 180;
/** Longest time from the beginning of a repair until the Deployment is deleted. */
const INTO_REPAIR_MS = 4000;
const AFTER_MS = 3000;
/** The Lease of a killed controller is free after a minute, and a repair needs half a minute of looks. */
const LIMIT_SECONDS = 180;
const FAULTS = [moveReplica, changeSetting];
const MISSING = KUBECONFIG === undefined ? "VALKEY_TEST_KUBECONFIG names no throw-away cluster" : undefined;

export const controllerDeleted: Benchmark = {
  title: "A controller that is deleted in the middle of a repair",
  ids: IDS,
  run: (context) => measureOrSkip(context, IDS, MISSING, measure),
};

async function measure({ report, emit, wanted, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const settings = { save: "", "repl-diskless-sync-delay": 0 };
  const pods = await DeployedPods.open("headless", CLUSTER, { settings, ephemeral: true });
  const controlled = await ControlledPods.open(pods, { repairSettings: true });
  const writes: ObservedWrites[] = [];
  const seconds: number[] = [];
  try {
    const observer = await observe(pods);
    for (let round = 0; round < ROUNDS && !signal.aborted; round++) {
      // A controller makes at most six repairs an hour.
      await controlled.renew();
      await controlled.untilLook(120, ({ pass }) => pass);
      const isKilled = round % 2 === 1;
      const waited = Math.random() * INTO_REPAIR_MS;
      let took = 0;
      const observed = await observer.during(async () => {
        await FAULTS[Math.floor(round / 2) % FAULTS.length]?.(controlled, round);
        await pods.here.until(BEGIN_SECONDS, async () =>
          (await controlled.isLeaseHeld()) ? undefined : "no repair has begun",
        );
        await sleep(waited);
        await controlled.replaceDeployment(isKilled);
        const began = performance.now();
        await untilHealthy(pods);
        took = (performance.now() - began) / 1000;
      }, AFTER_MS);
      seconds.push(took);
      writes.push(observed);
      const { acknowledged, failed, lost } = observed;
      report(
        `${round + 1}: Deployment deleted ${(waited / 1000).toFixed(1)} s into a repair${isKilled ? ", pod killed" : ""}; all assertions hold ${took.toFixed(1)} s after it is back; ${lost} lost and ${failed} failed of ${acknowledged + failed} writes`,
      );
    }
  } finally {
    await controlled.close();
  }
  const what = `the controller's Deployment is deleted in the middle of a repair, ${seconds.length} times under ${WRITES_PER_SECOND} writes/s`;
  const total = (metric: "lost" | "failed"): number => writes.reduce((sum, each) => sum + each[metric], 0);
  const rows = [
    singleRow(
      { id: SECONDS_ID, what: `${what}: longest time from its return until all assertions hold`, unit: "s" },
      Math.max(...seconds),
      atMost(LIMIT_SECONDS),
    ),
    singleRow({ id: LOST_ID, what: `${what}: lost`, unit: "writes" }, total("lost"), atMost(0)),
    singleRow({ id: FAILED_ID, what: `${what}: failed`, unit: "writes" }, total("failed"), atMost(0)),
  ];
  for (const row of rows) if (wanted.has(row.id)) emit(row);
}
