/** What `run` and `bench` have in common once there are deployments: measure, look again, write, print. */
import type { Deployment } from "../../benchmarks/deployment";
import type { Equipment } from "../../benchmarks/measuring/experiment";
import { runExperiment } from "../../benchmarks/measuring/experiment";
import type { ResultsCollector } from "../../benchmarks/results/collector";
import type { Results } from "../../benchmarks/results/schema";
import { formatSummary } from "../../benchmarks/results/summary";
import type { Artifacts } from "../../benchmarks/results/artifacts";
import { shortPath } from "../../benchmarks/results/artifacts";
import { formatDuration } from "../../benchmarks/units";
import type { OptionalAssertion } from "../../benchmarks/verification/facts";
import type { Verification } from "../../benchmarks/verification/verify";
import { verify } from "../../benchmarks/verification/verify";
import { formatVerification, verdictLine } from "../../benchmarks/verification/format";
import type { Workload } from "../../benchmarks/workloads/workload";
import { print } from "../output";
import type { Report } from "../../benchmarks/progress";

export interface MeasuringPlan {
  readonly verified: readonly { readonly deployment: Deployment; readonly verification: Verification }[];
  readonly workload: Workload;
  readonly repeats: number;
  /** Set where the servers are somebody's: keys are put there only where there are none of their names, and removed again. */
  readonly foreign?: { readonly overwrite: boolean } | undefined;
  readonly serversHere: boolean;
  readonly without: readonly OptionalAssertion[];
}

/** Measures everything and looks at the deployments once more. */
export async function measureAll(plan: MeasuringPlan, equipment: Equipment, collector: ResultsCollector, report: Report): Promise<void> {
  const contenders = plan.verified.map(({ deployment, verification }) => ({ deployment, shards: verification.verdict.shards }));
  const total = plan.repeats * plan.workload.tests.length * contenders.length;
  const began = Date.now();
  let done = 0;
  const { record, canary, raw } = collector.listener;
  await runExperiment({ ...plan, contenders }, equipment, {
    canary,
    raw,
    record: (each) => {
      done++;
      record(each);
    },
    progress: (line, passing) => {
      const left = done === 0 ? "" : `, about ${formatDuration((((Date.now() - began) / done) * (total - done)) / 1000)} left`;
      report(`${done}/${total}${left} · ${line}`, passing);
    },
  });
  for (const { deployment } of plan.verified) collector.addAfterwards(await verify(deployment, plan.without));
}

/** How a title says that something was measured. */
export function measuredTitle(plan: MeasuringPlan, milliseconds: number): string {
  const count = plan.repeats * plan.workload.tests.length * plan.verified.length;
  return `Measured ${count} times in ${formatDuration(milliseconds / 1000)}`;
}

/** `3 rounds` */
export function rounds(count: number): string {
  return `${count} ${count === 1 ? "round" : "rounds"}`;
}

/** The end of a run: table, verdicts, where the report is. */
export function printResults(results: Results, verifications: readonly Verification[], artifacts: Artifacts): void {
  print("");
  print(...formatSummary(results));
  print("");
  print(...verifications.map(({ verdict }) => verdictLine(verdict)));
  print(`Report: ${shortPath(artifacts.path("report.html"))}`);
}

/** Everything about verifications that failed, after which nothing is measured. */
export function printFailures(verifications: readonly Verification[]): void {
  const failed = verifications.filter(({ verdict }) => !verdict.pass);
  for (const verification of failed) print("", ...formatVerification(verification));
  if (failed.length > 0) print("", "Verification failed; nothing was measured.");
}
