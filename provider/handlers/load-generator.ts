/** Who sends the load to the targets of a measurement: a process beside servers of this machine, a Job beside pods. */
import type { Deployment } from "../../valkey/deployment";
import { Failure } from "../../lib/errors";
import { findPrograms } from "../../platforms/host/programs";
import { RunDirectory, stopAbandonedRuns, stopRun } from "../../platforms/host/run-directory";
import { JobLoadRunner, ValkeyBenchmarkJobRunner } from "../../benchmarks/load/jobs/job-runner";
import { memtierInJobs, openLoopInJobs } from "../../benchmarks/load/jobs/load-generators";
import { describeMachines } from "../../platforms/kubernetes/machines";
import type { LoadRunners } from "../../benchmarks/measuring/measurement-series";
import { mixedLoadRunners } from "../../benchmarks/load/mixed-load-runners";
import { LocalValkeyBenchmarkRunner } from "../../benchmarks/load/valkey-benchmark/local-runner";
import type { ValkeyBenchmarkRunner } from "../../benchmarks/load/load-runner";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/paths";
import type { Machine } from "../../platforms/machine";
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient, openKubernetesDeployment, openDeployment } from "../../platforms/deployment-reference";
import { detectFeatures } from "../../benchmarks/load/valkey-benchmark/features";
import type { MeasuredDeployment } from "../../benchmarks/results/measured-cost";
import type { MeasurementInputs } from "../resources/measurement";

export interface LoadGenerator {
  readonly deployments: readonly (Deployment & Pick<MeasuredDeployment, "memoryBytes">)[];
  readonly runner: ValkeyBenchmarkRunner;
  /** Of mixed workloads. */
  readonly loadRunners: Pick<LoadRunners, "openLoop" | "memtier">;
  /** Those of the servers, where they are machines of Kubernetes. */
  readonly machines: readonly Machine[];
  /** Null where the servers' image brings the tool. */
  readonly programs: { readonly version: string; readonly source: string } | null;
  readonly close: () => Promise<void>;
}

/** @throws Failure, BadInput when targets cannot be reached or the tool cannot be had */
export async function openLoadGenerator(inputs: MeasurementInputs, signal: AbortSignal): Promise<LoadGenerator> {
  const pods = inputs.targets.flatMap(({ target, password }) =>
    target.platform === "kubernetes" ? [{ target, password }] : [],
  );
  if (pods.length === 0) return besideServers(inputs, signal);
  if (pods.length < inputs.targets.length) throw new Failure("deployments of one measurement must be of one platform");
  return besidePods(pods, inputs, signal);
}

async function besideServers(
  { targets, stack, mixes = [] }: MeasurementInputs,
  signal: AbortSignal,
): Promise<LoadGenerator> {
  await stopAbandonedRuns(...allRunsDirectories());
  const programs = await findPrograms(packagesDirectory(), () => undefined, signal);
  const run = RunDirectory.create(runsDirectory(), stack);
  const runner = new LocalValkeyBenchmarkRunner({
    run,
    benchmark: programs.benchmark,
    features: await detectFeatures(programs.benchmark),
    serversHere: true,
  });
  const deployments = await Promise.all(targets.map(({ target, password }) => openDeployment(target, password)));
  return {
    deployments,
    runner,
    loadRunners: mixedLoadRunners(run, true, mixes),
    machines: [],
    programs,
    close: async () => {
      await stopRun(run.path);
    },
  };
}

async function besidePods(
  pods: readonly { readonly target: KubernetesReference; readonly password: string }[],
  { clients, timeoutSeconds }: MeasurementInputs,
  signal: AbortSignal,
): Promise<LoadGenerator> {
  const [first] = pods;
  if (first === undefined) throw new Failure("there is nothing to measure");
  const kubernetes = await openKubernetesClient(first.target);
  const deployments = await Promise.all(
    pods.map(({ target, password }) => openKubernetesDeployment(kubernetes, target, password, timeoutSeconds)),
  );
  const plan = clients ?? { runners: 1, sharing: false };
  const options = { plan, deployments, timeoutMs: timeoutSeconds * 1000 };
  const runner = await ValkeyBenchmarkJobRunner.open(kubernetes, options, signal);
  const loadRunners = {
    openLoop: new JobLoadRunner(kubernetes, options, openLoopInJobs(plan.images?.node)),
    memtier: new JobLoadRunner(kubernetes, options, memtierInJobs(plan.images?.memtier)),
  };
  const machines = await describeMachines(
    kubernetes,
    deployments.flatMap(({ nodes }) => nodes.map(({ machine }) => machine)),
  );
  return { deployments, runner, loadRunners, machines, programs: null, close: () => Promise.resolve() };
}
