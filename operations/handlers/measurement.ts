import { isAbsolute, relative, resolve } from "node:path";
import type { CapacitySearch } from "../../benchmarks/capacity/measure-capacity";
import { measureAll, plannedKeys } from "../../benchmarks/run/measure-all";
import { assertRunnerSupports } from "../../benchmarks/measuring/runner-support";
import { Traces } from "../../benchmarks/measuring/traces";
import { adjustLoads, loadProblems } from "../../benchmarks/run/adjusted-loads";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, timestampOf } from "../../benchmarks/run/artifacts";
import { ResultsCollector } from "../../benchmarks/run/collector";
import type { Comparison, MeasuredResults } from "../../benchmarks/results/comparison";
import { comparisonOf, withoutDistributions } from "../../benchmarks/results/comparison";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import type { Results } from "../../benchmarks/results/schema";
import { measuredCosts } from "../../benchmarks/results/measured-cost";
import type { Workload } from "../../benchmarks/workloads/workload";
import { BadInput, Failure, messageOf, problem, problemText } from "../../lib/errors";
import { pricesOf } from "../../platforms/eks/offers/prices";
import { tellZones } from "../../valkey/availability-zone";
import { formatVerification } from "../../valkey/verification/format";
import { type Verification, verify } from "../../valkey/verification/verify";
import type { HandlerContext, ResourceHandler } from "../protocol/resource-handler";
import { type LoadGenerator, type LoadGeneratorInputs, type MeasuredTarget, openLoadGenerator } from "./load-generator";

export interface MeasurementInputs extends LoadGeneratorInputs {
  /** The measurement adjusts the number of keys to the deployments. */
  readonly workload: Workload;
  /** Connections and threads that primaries cannot share evenly; with `false` they are refused. */
  readonly adjustLoad: boolean;
  readonly repeats: number;
  /** Runs after all other measurements. @default no search */
  readonly capacity?: CapacitySearch | undefined;
  /** This process may run in a different directory. */
  readonly directory: string;
  /** Directory for the files with the results, absolute or relative to `directory`. @default results/TIME */
  readonly output?: string | undefined;
  /** Description of the measurement. The results contain this description. */
  readonly configuration: unknown;
  /** Change this number to measure again. */
  readonly trigger: number;
}

export interface MeasurementOutputs {
  /** The file results.json also contains the distributions. */
  readonly results: MeasuredResults;
  readonly comparison: readonly Comparison[];
  readonly summary: string;
  /** The path is relative if the report is inside `directory`, and absolute if it is elsewhere. */
  readonly report: string;
}

export const handler: ResourceHandler<MeasurementInputs, MeasurementOutputs> = {
  // A new output directory does not repeat the measurement.
  silentInputs: ["directory", "output"],
  check: (_olds, { targets, workload, mixes, capacity, adjustLoad }) => {
    if (targets === undefined || workload === undefined) return Promise.resolve([]);
    const deployments = targets.map(({ target }) => ({ ...target, maxmemory: maxmemoryOf(target) }));
    const loads = { workload, mixes, capacity };
    const problems = loadProblems(adjustLoads(loads, deployments, adjustLoad ?? false), deployments);
    return Promise.resolve(problems.map((each) => problem(each.code, "", problemText(each))));
  },
  create: async (inputs, { signal, report }) => {
    const { stack, directory, output, configuration } = inputs;
    const timestamp = timestampOf(new Date());
    const chosen = output === undefined ? undefined : resolve(directory, output);
    const artifacts = Artifacts.open(directory, timestamp, chosen, renderReport);
    const collector = new ResultsCollector(artifacts, { timestamp, stack, configuration });
    let incomplete: string | null = "the run has not ended";
    let isRefused = false;
    let results: Results | undefined;
    let load: LoadGenerator | undefined;
    try {
      load = await openLoadGenerator(inputs, signal);
      await measure(inputs, load, collector, { signal, report });
      incomplete = null;
    } catch (error) {
      incomplete = messageOf(error);
      isRefused = error instanceof BadInput;
      throw collector.leftBehind.length === 0 ? error : leftBehind(collector, error);
    } finally {
      try {
        if (!isRefused && !collector.isEmpty) results = collector.finish(incomplete);
      } finally {
        artifacts.release();
        await load?.close();
      }
    }
    if (collector.leftBehind.length > 0) throw leftBehind(collector);
    if (results === undefined) throw new Error("the measurement has no results");
    const page = pathFrom(directory, artifacts.path("report.html"));
    requirePass(collector.afterwards, `verification failed after the measurements (report: ${page})`);
    report(`report: ${page}`);
    return {
      id: timestamp,
      outputs: {
        results: withoutDistributions(results),
        comparison: comparisonOf(results),
        summary: formatSummary(results).join("\n"),
        report: page,
      },
    };
  },
};

function leftBehind(collector: ResultsCollector, cause?: unknown): Failure {
  const lines = [...(cause === undefined ? [] : [messageOf(cause)]), ...collector.leftBehind];
  return new Failure(lines.join("\n"), { cause });
}

/** Relative inside the directory, so that the state is independent of the program's location. */
function pathFrom(directory: string, path: string): string {
  const short = relative(directory, path);
  return short.startsWith("..") || isAbsolute(short) ? path : short;
}

async function measure(
  inputs: MeasurementInputs,
  load: LoadGenerator,
  collector: ResultsCollector,
  { signal, report }: HandlerContext,
): Promise<void> {
  const { targets, repeats, adjustLoad } = inputs;
  if (load.programs !== null) collector.setPrograms(load.programs);
  collector.setMachines(load.machines);
  collector.setCosts(measuredCosts(load.deployments, load.machines, pricesOf));
  const verified = await Promise.all(
    load.deployments.map(async (deployment) => {
      const measured = targets.find(({ target }) => target.name === deployment.name);
      // A pod that started after the last update does not know its zone yet.
      if (measured?.target.platform === "kubernetes") await tellZones(deployment);
      const external = measured?.target.platform === "external" ? measured.target : undefined;
      const verification = await verify(deployment, external?.skippedAssertions);
      return {
        deployment,
        verification,
        formationMs: measured?.formationMs ?? null,
        overwriteKeys: external?.overwriteKeys,
      };
    }),
  );
  for (const { verification, formationMs } of verified) collector.addTopology(verification, formationMs);
  requirePass(
    verified.map(({ verification }) => verification),
    "verification failed, so nothing is measured",
  );
  // The shapes of external servers are known only after verification.
  const found = verified.map(({ deployment: { name, mode, shape }, verification }) => ({
    name,
    mode,
    shape: { ...shape, primaries: verification.verdict.shards.length },
  }));
  const loads = adjustLoads(inputs, found, adjustLoad);
  const problems = loadProblems(loads, found);
  if (problems.length > 0) throw new BadInput("the load", problems);
  const plan = { workload: loads.workload, mixedWorkloads: loads.mixes, repeats, capacity: loads.capacity };
  assertRunnerSupports(plan, load.runner);
  const traced = await Promise.all(
    verified.map(async ({ deployment, verification, overwriteKeys }) => {
      const servers = { deployment, shards: verification.verdict.shards };
      const traces =
        overwriteKeys === undefined
          ? Traces.onOwnServers(deployment)
          : await Traces.onServersOfOthers(servers, plannedKeys(plan), overwriteKeys);
      for (const notice of traces.notices) report(notice);
      return { deployment, verification, traces };
    }),
  );
  await measureAll(
    { ...plan, verified: traced },
    { valkeyBenchmark: load.runner, ...load.loadDrivers, signal },
    collector,
    () => undefined,
  );
}

/** maxmemory of a deployment, bytes; 0 without a limit, undefined for external servers. */
function maxmemoryOf(target: MeasuredTarget["target"]): number | undefined {
  return target.platform === "external" ? undefined : Number(target.directives["maxmemory"] ?? 0);
}

function requirePass(verifications: readonly Verification[], meaning: string): void {
  const failed = verifications.filter(({ verdict }) => !verdict.pass);
  if (failed.length === 0) return;
  const names = failed.map(({ facts }) => facts.deployment).join(", ");
  const rows = failed.flatMap((each) => formatVerification(each)).join("\n");
  throw new Failure(`${meaning}: ${names}\n${rows}`);
}
