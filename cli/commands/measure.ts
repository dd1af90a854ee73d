import { type Problem, BadInput, problem } from "../../lib/errors";
import { counted, formatDuration } from "../../lib/units";
import { formatObjective } from "../../benchmarks/capacity/objective";
import { type BenchmarkPlan, measureAll, plannedKeys } from "../../benchmarks/run/measure-all";
import { localLoadDrivers, assertLoadGeneratorsInstalled } from "../../benchmarks/measuring/local-load-drivers";
import { assertRunnerSupports } from "../../benchmarks/measuring/runner-support";
import { Traces } from "../../benchmarks/measuring/traces";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/arguments";
import type { ResultsCollector } from "../../benchmarks/run/collector";
import type { Programs } from "../../platforms/host/programs/programs";
import { verdictLine } from "../../valkey/verification/format";
import { type Verification, verify } from "../../valkey/verification/verify";
import { adjustKeySpace, unevenSettings } from "../../benchmarks/workloads/workload";
import type { OptionOverrides } from "../../stacks/config/sections/option-overrides";
import { parseBenchmark } from "../../stacks/config/parse";
import { externalDeployment, refuseSameServers } from "../targets/external";
import { benchmarkWorkload, mixedWorkloads } from "../../benchmarks/workloads/configured-workloads";
import type { BenchmarkConfig } from "../../stacks/config/schema/benchmark";
import type { OptionValues } from "../running/options";
import { findServerPrograms, LocalServers } from "../running/local-servers";
import { type ResultsRun, runWithResults } from "../running/run-to-end";
import { type Step, runSteps, StepFailure } from "../terminal/steps";
import { print } from "../terminal/terminal";

function readInput(values: OptionValues, overrides: OptionOverrides) {
  const problems: Problem[] = [];
  const read = <T>(part: () => T): T | undefined => {
    try {
      return part();
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      problems.push(...error.problems);
      return undefined;
    }
  };
  const external = read(() => externalDeployment(values));
  const load = read(() => parseBenchmark(overrides));
  if (external === undefined || load === undefined) throw new BadInput("the options", problems);
  return { ...load, external };
}

/** @returns 0 when everything was measured and removed, 1 when verification failed or something stays on the servers */
export async function measureExternalServers(
  values: OptionValues,
  overrides: OptionOverrides,
  interruption: AbortSignal,
): Promise<number> {
  const { external, benchmark, workloads } = readInput(values, overrides);
  const { deployment, without, here } = external;
  await refuseSameServers(deployment);
  const { mode } = deployment;
  const isCluster = mode === "cluster";
  const loads = {
    workload: { ...benchmarkWorkload(benchmark), keySpace: adjustKeySpace(benchmark.keySpace, isCluster) },
    mixedWorkloads: mixedWorkloads(benchmark, workloads, isCluster),
    repeats: benchmark.repeats,
  };
  assertLoadGeneratorsInstalled(loads.mixedWorkloads);
  const nodes = deployment.nodes.map(({ name, zone }) => ({ name, zone: zone ?? null }));
  const servers = new LocalServers(interruption);

  /** Refuses before anything is started or written to the servers. */
  const plan = async (verification: Verification, programs: Programs): Promise<BenchmarkPlan> => {
    const { shards } = verification.verdict;
    if (isCluster && loads.workload.tests.length > 0) refuseUnevenness(benchmark, shards.length);
    assertRunnerSupports(loads, { features: await detectFeatures(programs.benchmark), count: 1 });
    const overwrite = values["overwrite"] === true;
    const traces = await Traces.onServersOfOthers({ deployment, shards }, plannedKeys(loads), overwrite);
    print(...traces.notices);
    return { ...loads, verified: [{ deployment, verification, traces }] };
  };

  const begin = (collector: ResultsCollector): ResultsRun => {
    const verifications: Verification[] = [];
    let programs: Programs | undefined;
    const verifying: Step = {
      title: "Verify",
      run: async () => {
        const verification = await verify(deployment, without);
        verifications.push(verification);
        collector.addTopology(verification, null);
        const line = verdictLine(verification.verdict);
        if (!verification.verdict.pass) throw new StepFailure(line);
        return line;
      },
    };
    const finding: Step = {
      title: "Find valkey-benchmark",
      run: async (report) => {
        programs = await findServerPrograms(interruption, report);
        collector.setPrograms(programs);
        return `valkey-benchmark ${programs.version} from ${programs.source}`;
      },
    };
    const execute = async (): Promise<void> => {
      await runSteps([verifying, finding]);
      const [verification] = verifications;
      if (verification?.verdict.pass !== true || programs === undefined) return;
      const measured = await plan(verification, programs);
      servers.create("external", programs);
      await runSteps([measureStep(measured, servers, here, collector)]);
    };
    return { verifications, execute, stop: async () => servers.openHost?.stop() };
  };
  return runWithResults(
    { stack: "external", configuration: { mode, nodes, benchmark, workloads }, output: benchmark.output },
    servers.causeOf,
    begin,
  );
}

export function measureStep(
  plan: BenchmarkPlan,
  servers: LocalServers,
  serversHere: boolean,
  collector: ResultsCollector,
): Step {
  const { verified, workload, mixedWorkloads: mixes = [], repeats, capacity } = plan;
  const names = [...workload.tests, ...mixes.map(({ name }) => name)];
  const search = capacity === undefined ? "" : `, and the highest load at which ${formatObjective(capacity.objective)}`;
  return {
    title: `Measure ${names.join(", ")}: ${counted(repeats, "round")}${search}`,
    run: async (report) => {
      const began = Date.now();
      const drivers = await localLoadDrivers({ ...servers.loadGenerators, serversHere }, mixes);
      await measureAll(plan, { ...drivers, signal: servers.signal }, collector, report);
      return `Measured ${repeats * names.length * verified.length} times in ${formatDuration((Date.now() - began) / 1000)}`;
    },
  };
}

/** This is checked after verification, because only then is the number of primaries known. */
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
