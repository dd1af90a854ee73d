/** Measures verified deployments and writes the results. */
import { relative } from "node:path";
import type { CapacitySearch } from "../../benchmarks/measuring/measure-all";
import { measureAll } from "../../benchmarks/measuring/measure-all";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, timestampOf } from "../../benchmarks/results/artifacts";
import { ResultsCollector } from "../../benchmarks/results/collector";
import { measuredCosts } from "../../benchmarks/results/measured-cost";
import type { Results } from "../../benchmarks/results/schema";
import type { Workload } from "../../benchmarks/workloads/workload";
import { messageOf } from "../../lib/errors";
import { ROOT } from "../../lib/system/package";
import { pricesOf } from "../../platforms/eks/prices";
import { verifyAll } from "../../valkey/verification/verify";
import type { ResourceHandler } from "../resource-handler";
import type { LoadGenerator, LoadGeneratorInputs } from "./load-generator";
import { openLoadGenerator } from "./load-generator";

export interface MeasurementInputs extends LoadGeneratorInputs {
  readonly workload: Workload;
  readonly repeats: number;
  /** Searched for after everything else. @default no search */
  readonly capacity?: CapacitySearch | undefined;
  /** Directory for the artifacts. @default results/TIME in the project */
  readonly output?: string | undefined;
  /** Kept in the results. */
  readonly configuration: unknown;
  /** Any number. Another one measures again. */
  readonly trigger: number;
}

export interface MeasurementOutputs {
  readonly results: Results;
  /** Path of the report, from the project's directory. */
  readonly report: string;
}

export const handler: ResourceHandler<MeasurementInputs, MeasurementOutputs> = {
  create: async (inputs, { signal }) => {
    const { stack, output, configuration } = inputs;
    const timestamp = timestampOf(new Date());
    const artifacts = Artifacts.open(ROOT, timestamp, output, renderReport);
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
    const report = relative(ROOT, artifacts.path("report.html"));
    return { id: timestamp, outputs: { results: collector.finish(null), report } };
  },
};

async function measure(
  { targets, workload, mixes, repeats, capacity }: MeasurementInputs,
  load: LoadGenerator,
  collector: ResultsCollector,
  signal: AbortSignal,
): Promise<void> {
  if (load.programs !== null) collector.setPrograms(load.programs);
  collector.setMachines(load.machines);
  collector.setCosts(measuredCosts(load.deployments, load.machines, pricesOf));
  const verified = await verifyAll(load.deployments);
  for (const { verification } of verified) {
    const measured = targets.find(({ target }) => target.name === verification.facts.deployment);
    collector.addTopology(verification, measured?.formationMs ?? null);
  }
  await measureAll(
    { verified, workload, mixedWorkloads: mixes, repeats, capacity, without: [] },
    { valkeyBenchmark: load.runner, ...load.loadRunners, signal },
    collector,
    () => undefined,
  );
}
