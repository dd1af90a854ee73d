/** Measuring of deployments that passed verification, into a collector, with a last look at them. */
import { measureCapacities } from "../capacity/measure-capacity";
import type { CapacityMeasurement } from "../capacity/measure-capacity";
import type { Deployment } from "../../valkey/deployment";
import type { ReportProgress } from "../../lib/progress";
import type { ResultsCollector } from "../results/collector";
import { formatCapacity } from "../results/summary";
import { formatDuration } from "../../lib/units";
import type { OptionalAssertion } from "../../valkey/verification/facts";
import type { Verification } from "../../valkey/verification/verify";
import { verify } from "../../valkey/verification/verify";
import type { Workload } from "../workloads/workload";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { LoadRunners } from "./run-measurements";
import { runReferenceLoad, runMeasurements } from "./run-measurements";

export interface BenchmarkPlan {
  readonly verified: readonly { readonly deployment: Deployment; readonly verification: Verification }[];
  readonly workload: Workload;
  readonly mixedWorkloads?: readonly MixedWorkload[] | undefined;
  readonly repeats: number;
  /** Searched for after all else. @default not */
  readonly capacity?: CapacitySearch | undefined;
  /** Set where the servers are somebody's: keys are put there only where there are none of their names, and removed again. */
  readonly externalKeys?: { readonly overwrite: boolean } | undefined;
  readonly without: readonly OptionalAssertion[];
}

/** What is offered, up to where, and what must hold. */
export type CapacitySearch = Pick<CapacityMeasurement, "workload" | "objective" | "search">;

/** Measures everything and looks at the deployments once more. */
export async function measureAll(
  plan: BenchmarkPlan,
  equipment: LoadRunners,
  collector: ResultsCollector,
  report: ReportProgress,
): Promise<void> {
  const contenders = plan.verified.map(({ deployment, verification }) => ({
    deployment,
    shards: verification.verdict.shards,
  }));
  const total = plan.repeats * (plan.workload.tests.length + (plan.mixedWorkloads?.length ?? 0)) * contenders.length;
  const began = Date.now();
  let done = 0;
  const { record, referenceLoad, raw } = collector.listener;
  await runMeasurements({ ...plan, deployments: contenders }, equipment, {
    referenceLoad,
    raw,
    record: (each) => {
      done++;
      record(each);
    },
    progress: (line, passing) => {
      const left =
        done === 0 ? "" : `, about ${formatDuration((((Date.now() - began) / done) * (total - done)) / 1000)} left`;
      report(`${done}/${total}${left} · ${line}`, passing);
    },
  });
  if (plan.capacity !== undefined)
    await findCapacities(
      { ...plan.capacity, deployments: contenders, externalKeys: plan.externalKeys },
      plan.repeats + 2,
      equipment,
      collector,
      report,
    );
  for (const { deployment } of plan.verified) collector.addAfterwards(await verify(deployment, plan.without));
}

/**
 * One after the other, with a reference load before each and one after the last. Those that were found are kept when the search for another fails.
 * @param first the first reference load's round: behind those of what was measured before
 */
export async function findCapacities(
  plan: CapacityMeasurement,
  first: number,
  equipment: LoadRunners,
  collector: ResultsCollector,
  report: ReportProgress,
): Promise<void> {
  const { openLoop, signal } = equipment;
  if (openLoop === undefined) throw new Error("a capacity is found by the open loop, and there is none");
  // All of them by the same servers: others answer at another rate on a machine that has not moved.
  const [steady] = plan.deployments;
  const referenceLoad = async (index: number): Promise<void> => {
    if (steady === undefined) return;
    report(`reference load ${index + 1} of ${plan.deployments.length + 1}`, true);
    await runReferenceLoad(steady, first + index, equipment, { ...collector.listener, progress: report });
  };
  for (const [index, contender] of plan.deployments.entries()) {
    await referenceLoad(index);
    await measureCapacities({ ...plan, deployments: [contender] }, { openLoop, signal }, report, (capacity) => {
      collector.addCapacity({ ...capacity, round: first + index });
      report(formatCapacity(capacity));
    });
  }
  await referenceLoad(plan.deployments.length);
}
