/** Output and last steps of the commands that measure. */
import type { BenchmarkPlan } from "../../benchmarks/run/measure-all";
import type { ResultsCollector } from "../../benchmarks/run/collector";
import type { Results } from "../../benchmarks/results/schema";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import type { Artifacts } from "../../benchmarks/run/artifacts";
import { shortPath } from "../../benchmarks/run/artifacts";
import { counted, formatDuration } from "../../lib/units";
import type { Verification } from "../../valkey/verification/verify";
import { formatVerification, verdictLine } from "../../valkey/verification/format";
import type { Host } from "../../platforms/host/host";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { print } from "../terminal/terminal";

/** Title of the finished step that measured, such as `Measured 18 times in 1m 2s`. */
export function measuredTitle(plan: BenchmarkPlan, milliseconds: number): string {
  const count = plan.repeats * (plan.workload.tests.length + (plan.mixedWorkloads?.length ?? 0)) * plan.verified.length;
  return `Measured ${count} times in ${formatDuration(milliseconds / 1000)}`;
}

/** Names of all tests and workloads of a benchmark as text, such as `set, get, steady`. */
export function measuredNames({
  workload,
  mixedWorkloads,
}: Pick<BenchmarkPlan, "workload" | "mixedWorkloads">): string {
  return [...workload.tests, ...(mixedWorkloads ?? []).map(({ name }) => name)].join(", ");
}

/** A number of rounds as text, such as `3 rounds`. */
export function formatRounds(count: number): string {
  return counted(count, "round");
}

/**
 * Ends a command: stops its servers and then writes the results, even if the servers cannot be stopped.
 * @param reason reason why the results are incomplete; null if they are complete
 * @param say prints the results; it is not called if there are no results
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

/** Prints the summary, the verdicts and the path of the report. */
export function printResults(results: Results, verifications: readonly Verification[], artifacts: Artifacts): void {
  print("");
  print(...formatSummary(results));
  print("");
  print(...verifications.map(({ verdict }) => verdictLine(verdict)));
  print(`Report: ${shortPath(artifacts.path("report.html"))}`);
}

/** Prints the assertions of verifications that failed. */
export function printFailures(verifications: readonly Verification[]): void {
  const failed = verifications.filter(({ verdict }) => !verdict.pass);
  for (const verification of failed) print("", ...formatVerification(verification));
  if (failed.length > 0) print("", "Verification failed; nothing was measured.");
}

/**
 * Lines with the command that connects to a deployment on this machine. The list is empty if the deployment has no
 * nodes.
 */
export function connectCommand(
  host: Pick<Host, "passwordFile" | "programs">,
  { name, mode, nodes }: Pick<Deployment, "name" | "mode" | "nodes">,
): string[] {
  const [first] = nodes;
  if (first === undefined) return [];
  const cluster = mode === "cluster" ? "-c " : "";
  const addresses = nodes.map(({ endpoint }) => formatEndpoint(endpoint)).join(" ");
  return [
    `  VALKEYCLI_AUTH=$(cat ${host.passwordFile(name)}) ${host.programs.cli} ${cluster}-p ${first.endpoint.port}   # ${name}: ${addresses}`,
  ];
}
