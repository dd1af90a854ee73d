import { compact } from "../../lib/compact";
import type { ReportProgress } from "../../lib/progress";
import { formatDuration } from "../../lib/units";
import { verdictLine } from "../../valkey/verification/format";
import { type Verification, verifyUntilPass } from "../../valkey/verification/verify";
import { type CapacitySearch, measureCapacity } from "../capacity/measure-capacity";
import type { ResultsCollector } from "./collector";
import { formatCapacity } from "../results/formats/summary";
import type { LoadDrivers, MeasurementSeries } from "../measuring/measurement-series";
import { runReferenceLoad } from "../measuring/reference-load";
import { runMeasurements } from "../measuring/run-measurements";
import type { VerifiedDeployment } from "../measuring/session";
import type { NeededKeys } from "../workloads/key-slices";
import { prefillForMixed } from "../workloads/mixed-workload-tests";
import { namedTest } from "../workloads/named-tests";

export interface BenchmarkPlan extends Pick<MeasurementSeries, "workload" | "mixedWorkloads" | "repeats"> {
  readonly verified: readonly (Pick<VerifiedDeployment, "deployment" | "traces"> & {
    readonly verification: Verification;
  })[];
  readonly capacity?: CapacitySearch | undefined;
}

interface CapacitiesPlan extends CapacitySearch {
  readonly deployments: readonly VerifiedDeployment[];
}

export function plannedKeys({
  workload: { tests, keySpace, dataSize },
  mixedWorkloads = [],
  capacity,
}: Pick<BenchmarkPlan, "workload" | "mixedWorkloads" | "capacity">): NeededKeys[] {
  const size = { keySpace, dataSize, stock: 0 };
  const ofTests = compact(tests.map((test) => namedTest(test).prefill)).map((what) => ({ what, size }));
  return [...ofTests, ...mixedWorkloads.map(prefillForMixed), ...compact([capacity?.workload]).map(prefillForMixed)];
}

/** Replicas may lag behind the end of the load, and a failover may be in progress. */
const RECOVERY_MS = 10_000;

/**
 * Removes what it made on servers that outlive it; `leftBehind` of the collector has the rest.
 * @throws the errors of `runMeasurements` and `findCapacities`; the collector has all earlier results
 */
export async function measureAll(
  plan: BenchmarkPlan,
  runners: LoadDrivers,
  collector: ResultsCollector,
  report: ReportProgress,
): Promise<void> {
  try {
    await makeMeasurements(plan, runners, collector, report);
  } finally {
    const left = await Promise.all(plan.verified.map(async ({ traces }) => (await traces?.remove(report)) ?? []));
    collector.leftBehind.push(...left.flat());
  }
  for (const { deployment, verification } of plan.verified) {
    const { skippedAssertions } = verification.facts;
    const after = await verifyUntilPass(deployment, { settlingMs: 0, recoveryMs: RECOVERY_MS, skippedAssertions });
    collector.addAfterwards(after);
    if (!after.verdict.pass) report(`after the measurements, ${verdictLine(after.verdict)}`);
  }
}

async function makeMeasurements(
  plan: BenchmarkPlan,
  runners: LoadDrivers,
  collector: ResultsCollector,
  report: ReportProgress,
): Promise<void> {
  const { workload, mixedWorkloads, repeats, capacity } = plan;
  const deployments = plan.verified.map(({ deployment, verification, traces }) => ({
    deployment,
    shards: verification.verdict.shards,
    traces,
  }));
  const perRound = (workload.tests.length + (mixedWorkloads?.length ?? 0)) * deployments.length;
  const began = Date.now();
  let done = 0;
  if (perRound > 0)
    await runMeasurements({ deployments, workload, mixedWorkloads, repeats }, runners, {
      ...collector.listener,
      record: (record) => {
        done++;
        collector.listener.record(record);
      },
      progress: (line, passing) => {
        report(`${describeProgress(done, repeats * perRound, began)} · ${line}`, passing);
      },
    });
  if (capacity === undefined) return;
  const firstRound = perRound > 0 ? repeats + 2 : 1;
  await findCapacities({ ...capacity, deployments }, firstRound, runners, collector, report);
}

/**
 * With a reference load before each and after the last. Found capacities are kept if a search fails.
 * @param firstRound number of the first reference load
 */
export async function findCapacities(
  plan: CapacitiesPlan,
  firstRound: number,
  runners: LoadDrivers,
  collector: ResultsCollector,
  report: ReportProgress,
): Promise<void> {
  const { deployments, ...measurement } = plan;
  const { openLoop, signal } = runners;
  if (openLoop === undefined)
    throw new Error("a search for capacity needs the load generator open-loop, and this platform cannot run it");
  // All reference loads go to the first deployment, because on the same machine other servers serve a different rate.
  const [reference] = deployments;
  const referenceLoad = async (index: number): Promise<void> => {
    if (reference === undefined) return;
    report(`reference load ${index + 1} of ${deployments.length + 1}`, true);
    await runReferenceLoad(reference, firstRound + index, runners, { ...collector.listener, progress: report });
  };
  for (const [index, deployment] of deployments.entries()) {
    await referenceLoad(index);
    const capacity = await measureCapacity({ ...measurement, deployment }, { openLoop, signal }, report);
    collector.addCapacity({ ...capacity, round: firstRound + index });
    report(formatCapacity(capacity));
  }
  await referenceLoad(deployments.length);
}

function describeProgress(done: number, total: number, began: number): string {
  if (done === 0) return `0/${total}`;
  const secondsEach = (Date.now() - began) / done / 1000;
  return `${done}/${total}, about ${formatDuration(secondsEach * (total - done))} left`;
}
