/** `npm start -- measure`: verifies existing servers and then measures them. */
import { BadInput, messageOf, problem } from "../../lib/errors";
import { findPrograms } from "../../platforms/host/programs/programs";
import { RunDirectory, stopAbandonedRuns, stopRun } from "../../platforms/host/run-directory";
import type { BenchmarkPlan } from "../../benchmarks/run/measure-all";
import { measureAll } from "../../benchmarks/run/measure-all";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/system/paths";
import { mixedLoadDrivers, assertLoadGeneratorsInstalled } from "../../benchmarks/measuring/mixed-load-drivers";
import { LocalValkeyBenchmarkDriver } from "../../benchmarks/load/valkey-benchmark/local-driver";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/run/artifacts";
import { ResultsCollector } from "../../benchmarks/run/collector";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/features";
import { verdictLine } from "../../valkey/verification/format";
import type { Verification } from "../../valkey/verification/verify";
import { verify } from "../../valkey/verification/verify";
import { adjustKeySpace, unevenSettings } from "../../benchmarks/workloads/workload";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";
import { parseBenchmark } from "../../stacks/config/parse";
import type { ExternalDeployment } from "../targets/external";
import { externalDeployment } from "../targets/external";
import { print } from "../terminal/terminal";
import { benchmarkWorkload, mixedWorkloads } from "../../benchmarks/workloads/configured-workloads";
import type { BenchmarkConfig } from "../../stacks/config/schema/benchmark";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { runSteps, StepFailure } from "../terminal/steps";
import { measuredNames, measuredTitle, printFailures, printResults, formatRounds } from "./run-output";

/**
 * Verifies existing servers, and measures them if they pass.
 * @returns 0 when everything was measured, 1 when verification failed
 */
export async function measureExternalServers(
  values: Readonly<Record<string, unknown>>,
  overrides: OptionOverrides,
  signal: AbortSignal,
): Promise<number> {
  const external = externalDeployment(values);
  const { benchmark, workloads } = parseBenchmark(overrides);
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(process.cwd(), timestamp, benchmark.output, renderReport);
  const nodes = external.deployment.nodes.map(({ name, zone }) => ({ name, zone: zone ?? null }));
  const collector = new ResultsCollector(artifacts, {
    timestamp,
    stack: "external",
    configuration: { mode: external.deployment.mode, nodes, benchmark, workloads },
  });
  const verifications: Verification[] = [];
  let reason: string | null = "the run has not ended";
  try {
    await runSteps([
      {
        title: "Verify",
        run: async () => {
          const verification = await verify(external.deployment, external.without);
          verifications.push(verification);
          collector.addTopology(verification, null);
          const line = verdictLine(verification.verdict);
          if (!verification.verdict.pass) throw new StepFailure(line);
          return line;
        },
      },
    ]);
    const [verification] = verifications;
    if (verification?.verdict.pass !== true) {
      reason = "verification failed; nothing was measured";
      return 1;
    }
    await measureServers(
      { external, verification, benchmark, workloads, overwrite: values["overwrite"] === true },
      collector,
      signal,
    );
    reason = null;
    return 0;
  } catch (error) {
    reason = messageOf(error);
    throw error;
  } finally {
    const results = collector.finish(reason);
    printFailures(verifications);
    if (reason === null) printResults(results, verifications, artifacts);
    else print("", `Partial results (marked incomplete): ${shortPath(artifacts.directory)}`);
  }
}

interface ServersToMeasure {
  readonly external: ExternalDeployment;
  readonly verification: Verification;
  readonly benchmark: BenchmarkConfig;
  readonly workloads: StackConfig["workloads"];
  readonly overwrite: boolean;
}

async function measureServers(
  { external, verification, benchmark, workloads, overwrite }: ServersToMeasure,
  collector: ResultsCollector,
  signal: AbortSignal,
): Promise<void> {
  const { deployment, here } = external;
  const isCluster = deployment.mode === "cluster";
  const workload = { ...benchmarkWorkload(benchmark), keySpace: adjustKeySpace(benchmark.keySpace, isCluster) };
  const mixes = mixedWorkloads(benchmark, workloads, isCluster);
  assertLoadGeneratorsInstalled(mixes);
  if (isCluster && workload.tests.length > 0) refuseUnevenness(benchmark, verification.verdict.shards.length);
  let run: RunDirectory | undefined;
  try {
    await runSteps([
      {
        title: "Find valkey-benchmark",
        run: async (report) => {
          await stopAbandonedRuns(...allRunsDirectories());
          const programs = await findPrograms(packagesDirectory(), report, signal);
          collector.setPrograms(programs);
          run = RunDirectory.create(runsDirectory(), "external");
          return `valkey-benchmark ${programs.version} from ${programs.source}`;
        },
      },
      {
        title: `Measure ${measuredNames({ workload, mixedWorkloads: mixes })}: ${formatRounds(benchmark.repeats)}`,
        run: async (report) => {
          if (run === undefined) throw new Error("there is no run");
          const { benchmark: tool } = await findPrograms(packagesDirectory(), report, signal);
          const began = Date.now();
          const plan: BenchmarkPlan = {
            verified: [{ deployment, verification, externalKeys: { overwrite } }],
            workload,
            mixedWorkloads: mixes,
            repeats: benchmark.repeats,
          };
          const runner = new LocalValkeyBenchmarkDriver({
            run,
            benchmark: tool,
            features: await detectFeatures(tool),
            serversHere: here,
          });
          await measureAll(
            plan,
            { valkeyBenchmark: runner, ...mixedLoadDrivers(run, here, mixes), signal },
            collector,
            report,
          );
          return measuredTitle(plan, Date.now() - began);
        },
      },
    ]);
  } finally {
    if (run !== undefined) await stopRun(run.path);
  }
}

/**
 * Refuses a load that the primaries cannot share evenly. The function is called after verification, because only then
 * is the number of primaries known.
 * @throws BadInput with the nearest values that are allowed
 */
function refuseUnevenness({ clients, threads }: BenchmarkConfig, primaries: number): void {
  const faults = unevenSettings(clients, threads, primaries);
  if (faults.length > 0)
    throw new BadInput(
      "the load",
      faults.map(({ setting, why, nearest }) =>
        problem("uneven-load", `--${setting}`, `${why}; nearest values: ${nearest.join(" or ")}`),
      ),
    );
}
