import { relative } from "node:path";
import { messageOf } from "../../benchmarks/errors";
import { findPrograms } from "../../benchmarks/host/programs";
import { RunDirectory, stopAbandonedRuns, stopRun } from "../../benchmarks/host/run-directory";
import { LocalRunner } from "../../benchmarks/measuring/local-runner";
import { measureAll } from "../../benchmarks/measuring/measure-all";
import { allRunsDirectories, packagesDirectory, ROOT, runsDirectory } from "../../benchmarks/paths";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, timestampOf } from "../../benchmarks/results/artifacts";
import { ResultsCollector } from "../../benchmarks/results/collector";
import { openTarget } from "../../benchmarks/target";
import { toolFeatures } from "../../benchmarks/valkey-benchmark/features";
import { verifyAll } from "../../benchmarks/verification/verify";
import type { Handler } from "../handled";
import type { MeasurementInputs, MeasurementOutputs } from "../measurement";

const untilKilled = new AbortController().signal;

const handler: Handler<MeasurementInputs, MeasurementOutputs> = {
  create: async ({ targets, workload, repeats, stack, output, configuration }) => {
    const timestamp = timestampOf(new Date());
    const artifacts = Artifacts.open(ROOT, timestamp, output, renderReport);
    const collector = new ResultsCollector(artifacts, { timestamp, stack, configuration });
    let reason: string | null = "the run has not ended";
    let run: RunDirectory | undefined;
    try {
      await stopAbandonedRuns(...allRunsDirectories());
      const programs = await findPrograms(packagesDirectory(), () => undefined, untilKilled);
      collector.setPrograms(programs);
      run = RunDirectory.create(runsDirectory(), stack);
      const deployments = await Promise.all(targets.map(({ target, password }) => openTarget(target, password)));
      const verified = await verifyAll(deployments);
      for (const { verification } of verified) {
        const formation = targets.find(({ target }) => target.name === verification.facts.deployment)?.formationMs;
        collector.addTopology(verification, formation ?? null);
      }
      const runner = new LocalRunner({ run, benchmark: programs.benchmark, features: await toolFeatures(programs.benchmark), serversHere: true });
      await measureAll({ verified, workload, repeats, without: [] }, { runner, signal: untilKilled }, collector, () => undefined);
      reason = null;
    } catch (error) {
      reason = messageOf(error);
      throw error;
    } finally {
      if (collector.isEmpty) artifacts.discardIfEmpty();
      else collector.finish(reason);
      if (run !== undefined) await stopRun(run.path);
    }
    return { id: timestamp, outputs: { results: collector.finish(null), report: relative(ROOT, artifacts.path("report.html")) } };
  },
};
export default handler;
