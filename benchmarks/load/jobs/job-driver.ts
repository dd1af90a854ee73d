import { randomBytes } from "node:crypto";
import { compact } from "../../../lib/compact";
import { BadInput, Failure, messageOf } from "../../../lib/errors";
import type { LoadRequest, LoadDriver, LoadOutcome, LoadObserver } from "../load-driver";
import type { ValkeyBenchmarkDriver } from "../valkey-benchmark/local-driver";
import type { ReportProgress } from "../../../lib/progress";
import { type ValkeyBenchmarkRun, type ValkeyBenchmarkFeatures, parseFeatures } from "../valkey-benchmark/arguments";
import { observed, unobserved } from "../../../valkey/observation";
import { machinesWithoutTuning } from "../../../valkey/verification/machine-tuning";
import { slotTags } from "../../../valkey/topology/slot-tags";
import type { PrimaryNode } from "../../workloads/prefill";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { benchmarkJob, featuresJob } from "./benchmark-job";
import type { PodDeployment } from "../../../platforms/kubernetes/deployment";
import { jobOutcome } from "./job-outcome";
import type { JobPhase, RunnerPlan } from "./job-plan";
import { JobRun, runFeaturesJob } from "./job-run";
import { type CredentialedRun, type JobAccess, type JobLoadGenerator, valkeyBenchmarkInJobs } from "./load-generators";
import { MachineSettingsReader } from "../../../platforms/kubernetes/cluster/machine-settings";
import { POD_TIMEOUT_MS } from "../../../platforms/kubernetes/pods/running-pods";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import { runnerTls } from "./runner-pod";
import { runnerKeys } from "./runner-script";

interface JobLoadDriverOptions {
  readonly plan: RunnerPlan;
  readonly deployments: readonly PodDeployment[];
  readonly image?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly report?: ReportProgress | undefined;
}

/** Kubernetes ends the Job after the total time. */
const DEADLINE_SLACK_SECONDS = 120;

interface PreparedJob<R> {
  readonly run: JobRun;
  readonly runs: readonly R[];
  readonly phases: readonly JobPhase[];
  readonly servers: PodDeployment;
  readonly plan: RunnerPlan;
}

export class JobLoadDriver<R extends CredentialedRun> implements LoadDriver<R> {
  readonly #machines: MachineSettingsReader;

  constructor(
    protected readonly kubernetes: KubernetesClient,
    protected readonly options: JobLoadDriverOptions,
    private readonly loadGenerator: JobLoadGenerator<R>,
  ) {
    this.#machines = new MachineSettingsReader(kubernetes);
  }

  get count(): number {
    return this.options.plan.runners;
  }

  async run(request: LoadRequest<R>, observer: LoadObserver, signal: AbortSignal): Promise<LoadOutcome> {
    const job = await this.#prepare(request, signal);
    let failed = true;
    try {
      signal.throwIfAborted();
      const outcome = await this.#measure(job, observer);
      failed = false;
      return outcome;
    } finally {
      await job.run.remove();
      if (failed && !signal.aborted) await job.run.stopped();
    }
  }

  async #prepare(
    { deployment, primary, run: measured, warmUp }: LoadRequest<R>,
    signal: AbortSignal,
  ): Promise<PreparedJob<R>> {
    const servers = this.options.deployments.find(({ name }) => name === deployment.name);
    if (servers === undefined) throw new Error(`${deployment.name} is not among the deployments to measure`);
    const { timeoutMs, report } = this.options;
    const plan = withAuthority(this.options.plan, servers);
    const user = measured.credentials;
    const runs = compact([warmUp, measured]);
    const access: JobAccess = {
      username: user?.username,
      tls: runnerTls(deployment.access.tls, plan),
      runners: plan.runners,
    };
    const phases = runs.map((run) => ({
      ...this.loadGenerator.phase(run, access, deployment),
      timeoutSeconds: this.loadGenerator.timeoutSeconds(run),
    }));
    const sidecar = await this.loadGenerator.sidecar?.();
    const startSeconds = (timeoutMs ?? POD_TIMEOUT_MS) / 1000;
    const runSeconds = phases.reduce((total, { timeoutSeconds }) => total + timeoutSeconds, 0);
    const name = jobName(servers);
    const prefix = `${name}${keyTag(primary)}`;
    const objects = benchmarkJob({
      name,
      namespace: plan.namespace ?? servers.namespace,
      image: imageOf(this.options, servers),
      servers,
      runner: plan,
      keys: prefix,
      phases,
      sidecar,
      user,
      tls: deployment.access.tls,
      timeoutSeconds: Math.ceil(startSeconds + runSeconds),
      deadlineSeconds: Math.ceil(startSeconds + runSeconds + DEADLINE_SLACK_SECONDS),
    });
    const run = new JobRun(this.kubernetes, objects, runnerKeys(prefix), primary, phases, this.loadGenerator.program, {
      timeoutMs,
      signal,
      report,
    });
    return { run, runs, phases, servers, plan };
  }

  async #measure({ run, runs, phases, servers, plan }: PreparedJob<R>, observer: LoadObserver): Promise<LoadOutcome> {
    await run.start(sharingAdvice(servers));
    const untuned = await this.#untuned(run);
    if (phases.length > 1) await run.runPhase(1);
    await observer.begin();
    const startedAt = new Date().toISOString();
    const begunMs = await run.runPhase(phases.length);
    await observer.end();
    const { records, machines } = await run.read();
    const limit = plan.resources?.limits?.["cpu"];
    return jobOutcome({
      loadGenerator: this.loadGenerator,
      phases: runs,
      seed: phases.at(-1)?.seed ?? 0,
      startedAt,
      begunMs,
      records,
      machines,
      cpuLimit: limit === undefined ? undefined : parseQuantity(limit),
      servers: new Set(servers.nodes.map(({ machine }) => machine)),
      sharing: plan.sharing,
      untuned,
    });
  }

  async #untuned(run: JobRun): Promise<string[]> {
    const { tuning } = this.options.plan;
    if (tuning === undefined) return [];
    const containers = new Map((await run.containers()).map((each) => [each.machine, each]));
    const found = await Promise.all(
      [...containers.values()].map(async (container) => ({
        machine: container.machine,
        settings: await this.#machines
          .read(container, container.machine)
          .then(observed, (error: unknown) => unobserved(messageOf(error))),
      })),
    );
    return machinesWithoutTuning(tuning, found);
  }
}

/** The driver uses only options that the valkey-benchmark of the image has. */
export class ValkeyBenchmarkJobDriver extends JobLoadDriver<ValkeyBenchmarkRun> implements ValkeyBenchmarkDriver {
  private constructor(
    kubernetes: KubernetesClient,
    options: JobLoadDriverOptions,
    readonly features: ValkeyBenchmarkFeatures,
  ) {
    super(kubernetes, options, valkeyBenchmarkInJobs);
  }

  /** It needs as many free resources on a machine as a runner. */
  static async open(
    kubernetes: KubernetesClient,
    options: JobLoadDriverOptions,
    signal: AbortSignal,
  ): Promise<ValkeyBenchmarkJobDriver> {
    const { deployments, plan } = options;
    const [first] = deployments;
    if (first === undefined) throw BadInput.of("benchmark", "no-deployment", "there is no deployment to measure");
    const job = featuresJob({
      name: jobName(first),
      namespace: plan.namespace ?? first.namespace,
      image: imageOf(options, first),
      servers: first,
      runner: plan,
    });
    const help = await runFeaturesJob(kubernetes, job, sharingAdvice(first), {
      timeoutMs: options.timeoutMs,
      signal,
      report: options.report,
    });
    return new ValkeyBenchmarkJobDriver(kubernetes, options, parseFeatures(help));
  }
}

/** Unchanged if it names TLS files or verifies no certificates. @throws BadInput in a different namespace */
export function withAuthority(plan: RunnerPlan, { name, namespace, access, tlsSecret }: PodDeployment): RunnerPlan {
  if (plan.tls !== undefined || tlsSecret === undefined || access.tls?.insecure !== false) return plan;
  const own = plan.namespace ?? namespace;
  if (own !== namespace)
    throw BadInput.of(
      name,
      "tls-of-other-namespace",
      `load generators in namespace ${own} cannot mount Secret ${tlsSecret} of namespace ${namespace}; ` +
        `expected { secret, cacert } with a Secret of namespace ${own} that has the same ca.crt`,
      "loadGenerators.tls",
    );
  return { ...plan, tls: { secret: tlsSecret, cacert: "ca.crt" } };
}

function imageOf({ image, plan, deployments }: JobLoadDriverOptions, fallback: PodDeployment): string {
  return image ?? plan.image ?? (deployments[0] ?? fallback).image;
}

function jobName({ name }: PodDeployment): string {
  return `bench-${name}-${randomBytes(4).toString("hex")}`;
}

function sharingAdvice({ name }: PodDeployment): string {
  return `allow load generators to share machines with the servers of ${name} (every record then carries a warning)`;
}

/** In a cluster a hash tag, so that all keys with which runners wait are in a slot of the primary; otherwise empty. */
function keyTag({ slots, name }: PrimaryNode): string {
  if (slots === undefined) return "";
  const [first] = slots;
  if (first === undefined) throw new Failure(`${name} has no slots`);
  return `:{${slotTags()[first.from] ?? ""}}`;
}
