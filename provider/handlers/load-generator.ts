/** Who sends the load to the targets of a measurement: a process beside servers of this machine, a Job beside pods. */
import type { Deployment } from "../../valkey/deployment";
import { Failure } from "../../lib/errors";
import { findPrograms } from "../../platforms/host/programs";
import { RunDirectory, stopAbandonedRuns, stopRun } from "../../platforms/host/run-directory";
import { JobLoad, JobRunner } from "../../benchmarks/load/jobs/job-runner";
import { memtierInJobs, openLoopInJobs } from "../../benchmarks/load/jobs/job-tools";
import { describeMachines } from "../../platforms/kubernetes/machines";
import type { Equipment } from "../../benchmarks/measuring/experiment";
import { localDrivers } from "../../benchmarks/load/local-drivers";
import { LocalRunner } from "../../benchmarks/load/valkey-benchmark/local-runner";
import type { ToolRunner } from "../../benchmarks/load/tool-runner";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/paths";
import type { Machine } from "../../platforms/machine";
import type { KubernetesTarget } from "../../platforms/target";
import { openKubernetes, openPods, openTarget } from "../../platforms/target";
import { toolFeatures } from "../../benchmarks/load/valkey-benchmark/features";
import type { Measured } from "../../benchmarks/results/measured-cost";
import type { MeasurementInputs } from "../resources/measurement";

export interface LoadGenerator {
  readonly deployments: readonly (Deployment & Pick<Measured, "memoryBytes">)[];
  readonly runner: ToolRunner;
  /** Of mixed workloads. */
  readonly drivers: Pick<Equipment, "openLoop" | "memtier">;
  /** Those of the servers, where they are machines of Kubernetes. */
  readonly machines: readonly Machine[];
  /** Null where the servers' image brings the tool. */
  readonly programs: { readonly version: string; readonly source: string } | null;
  readonly close: () => Promise<void>;
}

/** @throws Failure, BadInput when targets cannot be reached or the tool cannot be had */
export async function openLoadGenerator(inputs: MeasurementInputs, signal: AbortSignal): Promise<LoadGenerator> {
  const pods = inputs.targets.flatMap(({ target, password }) => (target.platform === "kubernetes" ? [{ target, password }] : []));
  if (pods.length === 0) return besideServers(inputs, signal);
  if (pods.length < inputs.targets.length) throw new Failure("deployments of one measurement must be of one platform");
  return besidePods(pods, inputs, signal);
}

async function besideServers({ targets, stack, mixes = [] }: MeasurementInputs, signal: AbortSignal): Promise<LoadGenerator> {
  await stopAbandonedRuns(...allRunsDirectories());
  const programs = await findPrograms(packagesDirectory(), () => undefined, signal);
  const run = RunDirectory.create(runsDirectory(), stack);
  const runner = new LocalRunner({ run, benchmark: programs.benchmark, features: await toolFeatures(programs.benchmark), serversHere: true });
  const deployments = await Promise.all(targets.map(({ target, password }) => openTarget(target, password)));
  return { deployments, runner, drivers: localDrivers(run, true, mixes), machines: [], programs, close: async () => { await stopRun(run.path); } };
}

async function besidePods(pods: readonly { readonly target: KubernetesTarget; readonly password: string }[], { clients, timeoutSeconds }: MeasurementInputs, signal: AbortSignal): Promise<LoadGenerator> {
  const [first] = pods;
  if (first === undefined) throw new Failure("there is nothing to measure");
  const kubernetes = await openKubernetes(first.target);
  const deployments = await Promise.all(pods.map(({ target, password }) => openPods(kubernetes, target, password, timeoutSeconds)));
  const plan = clients ?? { runners: 1, sharing: false };
  const options = { plan, deployments, timeoutMs: timeoutSeconds * 1000 };
  const runner = await JobRunner.open(kubernetes, options, signal);
  const drivers = { openLoop: new JobLoad(kubernetes, options, openLoopInJobs(plan.images?.node)), memtier: new JobLoad(kubernetes, options, memtierInJobs(plan.images?.memtier)) };
  const machines = await describeMachines(kubernetes, deployments.flatMap(({ nodes }) => nodes.map(({ machine }) => machine)));
  return { deployments, runner, drivers, machines, programs: null, close: () => Promise.resolve() };
}
