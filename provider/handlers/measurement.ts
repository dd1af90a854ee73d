import { relative } from "node:path";
import { messageOf } from "../../lib/errors";
import { measureAll } from "../../benchmarks/measuring/measure-all";
import { ROOT } from "../../lib/paths";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, timestampOf } from "../../benchmarks/results/artifacts";
import { ResultsCollector } from "../../benchmarks/results/collector";
import { verifyAll } from "../../valkey/verification/verify";
import { measuredCosts } from "../../benchmarks/results/measured-cost";
import { pricesOf } from "../../platforms/eks/prices";
import type { ResourceHandler } from "../dynamic-resource";
import type { MeasurementInputs, MeasurementOutputs } from "../resources/measurement";
import type { LoadGenerator } from "./load-generator";
import { openLoadGenerator } from "./load-generator";

const untilKilled = new AbortController().signal;

const handler: ResourceHandler<MeasurementInputs, MeasurementOutputs> = {
  create: async (inputs) => {
    const { targets, workload, mixes, repeats, capacity, stack, output, configuration } = inputs;
    const timestamp = timestampOf(new Date());
    const artifacts = Artifacts.open(ROOT, timestamp, output, renderReport);
    const collector = new ResultsCollector(artifacts, { timestamp, stack, configuration });
    let reason: string | null = "the run has not ended";
    let load: LoadGenerator | undefined;
    try {
      load = await openLoadGenerator(inputs, untilKilled);
      if (load.programs !== null) collector.setPrograms(load.programs);
      collector.setMachines(load.machines);
      collector.setCosts(measuredCosts(load.deployments, load.machines, pricesOf));
      const verified = await verifyAll(load.deployments);
      for (const { verification } of verified) {
        const formation = targets.find(({ target }) => target.name === verification.facts.deployment)?.formationMs;
        collector.addTopology(verification, formation ?? null);
      }
      await measureAll(
        { verified, workload, mixedWorkloads: mixes, repeats, capacity, without: [] },
        { valkeyBenchmark: load.runner, ...load.loadRunners, signal: untilKilled },
        collector,
        () => undefined,
      );
      reason = null;
    } catch (error) {
      reason = messageOf(error);
      throw error;
    } finally {
      if (collector.isEmpty) artifacts.discardIfEmpty();
      else collector.finish(reason);
      await load?.close();
    }
    return {
      id: timestamp,
      outputs: { results: collector.finish(null), report: relative(ROOT, artifacts.path("report.html")) },
    };
  },
};
export default handler;
