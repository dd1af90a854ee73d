/** What `run` and `bench` have in common once there are deployments: the words and the end. */
import type { BenchmarkPlan } from "../../benchmarks/measuring/measure-all";
import type { ResultsCollector } from "../../benchmarks/results/collector";
import type { Results } from "../../benchmarks/results/schema";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import type { Artifacts } from "../../benchmarks/results/artifacts";
import { shortPath } from "../../benchmarks/results/artifacts";
import { formatDuration } from "../../lib/units";
import type { Verification } from "../../valkey/verification/verify";
import { formatVerification, verdictLine } from "../../valkey/verification/format";
import { print } from "../terminal";

/** How a title says that something was measured. */
export function measuredTitle(plan: BenchmarkPlan, milliseconds: number): string {
  const count = plan.repeats * (plan.workload.tests.length + (plan.mixedWorkloads?.length ?? 0)) * plan.verified.length;
  return `Measured ${count} times in ${formatDuration(milliseconds / 1000)}`;
}

/** `set, get, steady` */
export function measuredNames({
  workload,
  mixedWorkloads,
}: Pick<BenchmarkPlan, "workload" | "mixedWorkloads">): string {
  return [...workload.tests, ...(mixedWorkloads ?? []).map(({ name }) => name)].join(", ");
}

/** `3 rounds` */
export function formatRounds(count: number): string {
  return `${count} ${count === 1 ? "round" : "rounds"}`;
}

/**
 * The end of a command, whatever came of it: servers are stopped, and then what there is is written, also when they cannot be stopped.
 * @param reason why it is incomplete; null where it is not
 * @param say tells of the results; not called where there are none
 */
export async function stopAndWrite(
  stop: () => Promise<void>,
  collector: ResultsCollector,
  artifacts: Artifacts,
  reason: string | null,
  say: (results: Results) => void,
): Promise<void> {
  try {
    await stop();
  } finally {
    if (collector.isEmpty) artifacts.discardIfEmpty();
    else say(collector.finish(reason));
  }
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
