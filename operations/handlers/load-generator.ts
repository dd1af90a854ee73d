/** The load generators of a measurement: processes for servers on this machine, and Jobs for servers in pods. */
import type { Deployment } from "../../valkey/deployment";
import { Failure } from "../../lib/errors";
import { findPrograms } from "../../platforms/host/programs/programs";
import { RunDirectory, stopAbandonedRuns, stopRun } from "../../platforms/host/run-directory";
import { JobLoadDriver, ValkeyBenchmarkJobDriver, withAuthority } from "../../benchmarks/load/jobs/job-driver";
import { memtierInJobs, openLoopInJobs } from "../../benchmarks/load/jobs/load-generators";
import { describeMachines } from "../../platforms/kubernetes/cluster/machines";
import type { LoadDrivers } from "../../benchmarks/measuring/measurement-series";
import { localLoadDrivers } from "../../benchmarks/measuring/local-load-drivers";
import type { ValkeyBenchmarkDriver } from "../../benchmarks/load/valkey-benchmark/local-driver";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/system/paths";
import type { RunnerPlan } from "../../benchmarks/load/jobs/job-plan";
import type { MixedWorkload } from "../../benchmarks/workloads/mixed-workload";
import type { Machine } from "../../platforms/kubernetes/cluster/machine";
import type { DeploymentReference, KubernetesReference } from "../../platforms/deployment-reference";
import { openKubernetesClient, openPodDeployment, openDeployment } from "../../platforms/deployment-reference";
import { type ExternalServers, isLocalHost, openExternalServers } from "../../platforms/external-servers";
import type { MeasuredDeployment } from "../../benchmarks/results/measured-cost";

export interface MeasuredTarget {
  readonly target: DeploymentReference | ExternalServers;
  readonly password?: string | undefined;
  /** Time that the formation took, milliseconds; null if there was no formation step. */
  readonly formationMs: number | null;
}

export interface LoadGeneratorInputs {
  readonly targets: readonly MeasuredTarget[];
  readonly stack: string;
  /** Mixed workloads, which are measured after the tests of the workload. @default none */
  readonly mixes?: readonly MixedWorkload[] | undefined;
  /** For load generators on this machine, only the number counts. @default one, separate from the servers */
  readonly clients?: RunnerPlan | undefined;
  readonly timeoutSeconds: number;
}

export interface LoadGenerator {
  readonly deployments: readonly (Deployment & Pick<MeasuredDeployment, "memoryBytes">)[];
  readonly runner: ValkeyBenchmarkDriver;
  readonly loadDrivers: Pick<LoadDrivers, "openLoop" | "memtier">;
  /** Machines on which the servers run; empty if the servers do not run in Kubernetes. */
  readonly machines: readonly Machine[];
  /** Origin of valkey-benchmark on this machine; null if the servers' image contains it. */
  readonly programs: { readonly version: string; readonly source: string } | null;
  readonly close: () => Promise<void>;
}

/** @throws Failure or BadInput when a target cannot be reached or valkey-benchmark is not found */
export async function openLoadGenerator(inputs: LoadGeneratorInputs, signal: AbortSignal): Promise<LoadGenerator> {
  const pods = inputs.targets.flatMap(({ target, password }) =>
    target.platform === "kubernetes" ? [{ target, password }] : [],
  );
  if (pods.length === 0) return openProcesses(inputs, signal);
  if (pods.length < inputs.targets.length)
    throw new Failure(
      "deployments in Kubernetes and servers elsewhere cannot be measured together: load generators run either as pods or on this machine",
    );
  return openJobs(pods, inputs, signal);
}

async function openProcesses(
  { targets, stack, mixes = [], clients }: LoadGeneratorInputs,
  signal: AbortSignal,
): Promise<LoadGenerator> {
  await stopAbandonedRuns(...allRunsDirectories());
  const programs = await findPrograms(packagesDirectory(), () => undefined, signal);
  const run = RunDirectory.create(runsDirectory(), stack);
  const serversHere = targets.some(({ target }) => isHere(target));
  const { valkeyBenchmark: runner, ...loadDrivers } = await localLoadDrivers(
    { run, benchmark: programs.benchmark, serversHere, count: clients?.runners },
    mixes,
  );
  const deployments = await Promise.all(targets.map((target) => openTarget(target, run.path)));
  return {
    deployments,
    runner,
    loadDrivers,
    machines: [],
    programs,
    close: async () => {
      await stopRun(run.path);
    },
  };
}

function openTarget({ target, password }: MeasuredTarget, directory: string): Promise<Deployment> {
  return target.platform === "external"
    ? Promise.resolve(openExternalServers(target, password, directory))
    : openDeployment(target, password);
}

function isHere(target: MeasuredTarget["target"]): boolean {
  return target.platform !== "kubernetes" && target.nodes.some(({ endpoint }) => isLocalHost(endpoint.host));
}

async function openJobs(
  pods: readonly { readonly target: KubernetesReference; readonly password: string | undefined }[],
  { clients, timeoutSeconds }: LoadGeneratorInputs,
  signal: AbortSignal,
): Promise<LoadGenerator> {
  const [first] = pods;
  if (first === undefined) throw new Failure("a measurement needs at least one deployment");
  const kubernetes = await openKubernetesClient(first.target);
  const timeoutMs = timeoutSeconds * 1000;
  const deployments = await Promise.all(
    pods.map(({ target, password }) => openPodDeployment(kubernetes, target, password, { timeoutMs, signal })),
  );
  const plan = clients ?? { runners: 1, sharing: false };
  // Problems are reported before anything is started.
  for (const deployment of deployments) withAuthority(plan, deployment);
  const options = { plan, deployments, timeoutMs };
  const runner = await ValkeyBenchmarkJobDriver.open(kubernetes, options, signal);
  const loadDrivers = {
    openLoop: new JobLoadDriver(kubernetes, options, openLoopInJobs(plan.images?.node)),
    memtier: new JobLoadDriver(kubernetes, options, memtierInJobs(plan.images?.memtier)),
  };
  const machines = await describeMachines(
    kubernetes,
    deployments.flatMap(({ nodes }) => nodes.map(({ machine }) => machine)),
  );
  return { deployments, runner, loadDrivers, machines, programs: null, close: () => Promise.resolve() };
}
