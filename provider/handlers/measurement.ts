/** Measures verified deployments and writes the results. */
import { isAbsolute, relative, resolve } from "node:path";
import type { CapacitySearch } from "../../benchmarks/capacity/measure-capacity";
import { measureAll } from "../../benchmarks/run/measure-all";
import { adjustLoads, loadProblems } from "../../benchmarks/run/adjusted-loads";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, timestampOf } from "../../benchmarks/run/artifacts";
import { ResultsCollector } from "../../benchmarks/run/collector";
import type { Comparison, MeasuredResults } from "../../benchmarks/results/comparison";
import { comparisonOf, withoutDistributions } from "../../benchmarks/results/comparison";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import { measuredCosts } from "../../benchmarks/results/measured-cost";
import type { Workload } from "../../benchmarks/workloads/workload";
import { BadInput, Failure, messageOf } from "../../lib/errors";
import { pricesOf } from "../../platforms/eks/offers/prices";
import { tellZones } from "../../valkey/availability-zone";
import { formatVerification } from "../../valkey/verification/format";
import type { Verification } from "../../valkey/verification/verify";
import { verify } from "../../valkey/verification/verify";
import type { ResourceHandler } from "../protocol/resource-handler";
import type { LoadGenerator, LoadGeneratorInputs, MeasuredTarget } from "./load-generator";
import { openLoadGenerator } from "./load-generator";

export interface MeasurementInputs extends LoadGeneratorInputs {
  /** Named tests. The key space is fitted to the deployments. */
  readonly workload: Workload;
  /** Whether connections and threads that primaries cannot share evenly are adjusted, instead of refused. */
  readonly adjustLoad: boolean;
  readonly repeats: number;
  /** Searched for after everything else. @default no search */
  readonly capacity?: CapacitySearch | undefined;
  /** The program's current directory, absolute: this process may run in another one. */
  readonly directory: string;
  /** Directory for the artifacts, absolute or from `directory`. @default results/TIME */
  readonly output?: string | undefined;
  /** Kept in the results. */
  readonly configuration: unknown;
  /** Change this number to measure again. */
  readonly trigger: number;
}

export interface MeasurementOutputs {
  /** Without latency distributions, which results.json has. */
  readonly results: MeasuredResults;
  readonly comparison: readonly Comparison[];
  /** summary.txt */
  readonly summary: string;
  /** Path of the report: from `directory` where it is inside, else absolute. */
  readonly report: string;
}

export const handler: ResourceHandler<MeasurementInputs, MeasurementOutputs> = {
  // A new directory of results does not make a new measurement.
  silentInputs: ["directory", "output"],
  check: (_olds, { targets, workload, mixes, capacity, adjustLoad }) => {
    if (targets === undefined || workload === undefined) return Promise.resolve([]);
    const deployments = targets.map(({ target }) => ({ ...target, maxmemory: maxmemoryOf(target) }));
    const loads = { workload, mixes, capacity };
    const problems = loadProblems(adjustLoads(loads, deployments, adjustLoad ?? false), deployments);
    return Promise.resolve(problems.map((reason) => ({ property: "", reason })));
  },
  create: async (inputs, { signal, report }) => {
    const { stack, directory, output, configuration } = inputs;
    const timestamp = timestampOf(new Date());
    const chosen = output === undefined ? undefined : resolve(directory, output);
    const artifacts = Artifacts.open(directory, timestamp, chosen, renderReport);
    const collector = new ResultsCollector(artifacts, { timestamp, stack, configuration });
    let incomplete: string | null = "the run has not ended";
    let load: LoadGenerator | undefined;
    try {
      load = await openLoadGenerator(inputs, signal);
      await measure(inputs, load, collector, signal);
      incomplete = null;
    } catch (error) {
      incomplete = messageOf(error);
      throw error;
    } finally {
      if (collector.isEmpty) artifacts.discardIfEmpty();
      else collector.finish(incomplete);
      await load?.close();
    }
    const results = collector.finish(null);
    const page = pathFrom(directory, artifacts.path("report.html"));
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

/** Relative where it is inside, so that a state does not depend on where the program lies. */
function pathFrom(directory: string, path: string): string {
  const short = relative(directory, path);
  return short.startsWith("..") || isAbsolute(short) ? path : short;
}

async function measure(
  inputs: MeasurementInputs,
  load: LoadGenerator,
  collector: ResultsCollector,
  signal: AbortSignal,
): Promise<void> {
  const { targets, repeats, adjustLoad } = inputs;
  if (load.programs !== null) collector.setPrograms(load.programs);
  collector.setMachines(load.machines);
  collector.setCosts(measuredCosts(load.deployments, load.machines, pricesOf));
  const verified = await Promise.all(
    load.deployments.map(async (deployment) => {
      const measured = targets.find(({ target }) => target.name === deployment.name);
      // A pod that started since the last update has been told by nobody.
      if (measured?.target.platform === "kubernetes") await tellZones(deployment);
      const external = measured?.target.platform === "external" ? measured.target : undefined;
      const verification = await verify(deployment, external?.skippedAssertions);
      return {
        deployment,
        verification,
        formationMs: measured?.formationMs ?? null,
        externalKeys: external && { overwrite: external.overwriteKeys },
      };
    }),
  );
  for (const { verification, formationMs } of verified) collector.addTopology(verification, formationMs);
  requirePass(verified.map(({ verification }) => verification));
  // Only now are the shapes of external servers known.
  const found = verified.map(({ deployment: { name, mode, shape }, verification }) => ({
    name,
    mode,
    shape: { ...shape, primaries: verification.verdict.shards.length },
  }));
  const loads = adjustLoads(inputs, found, adjustLoad);
  const problems = loadProblems(loads, found);
  if (problems.length > 0) throw new BadInput("the load", problems);
  await measureAll(
    { verified, workload: loads.workload, mixedWorkloads: loads.mixes, repeats, capacity: loads.capacity },
    { valkeyBenchmark: load.runner, ...load.loadDrivers, signal },
    collector,
    () => undefined,
  );
}

/** Bytes that the deployment sets itself; undefined where it sets no limit. */
function maxmemoryOf(target: MeasuredTarget["target"]): number | undefined {
  return target.platform === "external" ? undefined : Number(target.directives["maxmemory"] ?? 0);
}

/** Refuses to measure a deployment that does not pass verification. */
function requirePass(verifications: readonly Verification[]): void {
  const failed = verifications.filter(({ verdict }) => !verdict.pass);
  if (failed.length === 0) return;
  const names = failed.map(({ facts }) => facts.deployment).join(", ");
  const rows = failed.flatMap((each) => formatVerification(each)).join("\n");
  throw new Failure(`verification failed, so nothing is measured: ${names}\n${rows}`);
}
