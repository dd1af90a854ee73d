/** The load generator as a Kubernetes Job: one for each run of the tool, removed when its results are read. */
import { randomBytes } from "node:crypto";
import { BadInput, Failure } from "../../../lib/errors";
import type { LoadRequest, LoadRunner, LoadOutcome, ValkeyBenchmarkRunner, LoadObserver } from "../load-runner";
import type { ReportProgress } from "../../../lib/progress";
import type { ValkeyBenchmarkRun } from "../valkey-benchmark/arguments";
import type { ValkeyBenchmarkFeatures } from "../valkey-benchmark/features";
import { parseFeatures } from "../valkey-benchmark/features";
import { slotTags } from "../../../valkey/topology/slot-tags";
import type { PrimaryNode } from "../../workloads/prefill";
import type { KubernetesClient } from "../../../platforms/kubernetes/client";
import type { RunnerPlan } from "./benchmark-job";
import { benchmarkJob, featuresJob, runnerTls } from "./benchmark-job";
import type { KubernetesDeployment } from "../../../platforms/kubernetes/deployment";
import { jobOutcome } from "./job-outcome";
import { JobRun, runFeaturesJob } from "./job-run";
import type { JobAccess, JobLoadGenerator } from "./load-generator";
import { valkeyBenchmarkInJobs } from "./load-generators";
import { POD_TIMEOUT_MS } from "../../../platforms/kubernetes/pods";
import { parseQuantity } from "../../../platforms/kubernetes/quantity";
import { runnerKeys } from "./runner-script";

export interface JobLoadRunnerOptions {
  readonly plan: RunnerPlan;
  /** Those that will be measured. */
  readonly deployments: readonly KubernetesDeployment[];
  /** The tool's; the same for all deployments, so that they are compared by one load generator. @default the first deployment's */
  readonly image?: string | undefined;
  /** How long runners may take to start, milliseconds. @default 300000 */
  readonly timeoutMs?: number | undefined;
  /** Told what is awaited. */
  readonly report?: ReportProgress | undefined;
}

/** What Kubernetes ends a Job after, beyond all that it may take, seconds. */
const DEADLINE_SLACK_SECONDS = 120;

/** A load generator whose program runs in Jobs. @typeParam R what one run of it is */
export class JobLoadRunner<R> implements LoadRunner<R> {
  constructor(
    protected readonly kubernetes: KubernetesClient,
    protected readonly options: JobLoadRunnerOptions,
    private readonly tool: JobLoadGenerator<R>,
  ) {}

  get count(): number {
    return this.options.plan.runners;
  }

  async run(
    { deployment, primary, run: tool, warmUp }: LoadRequest<R>,
    watch: LoadObserver,
    signal: AbortSignal,
  ): Promise<LoadOutcome> {
    const servers = this.options.deployments.find(({ name }) => name === deployment.name);
    if (servers === undefined) throw new Error(`${deployment.name} is none of the deployments to measure`);
    const { plan, timeoutMs, report } = this.options;
    const user = this.tool.user(tool);
    const runs = [...(warmUp === undefined ? [] : [warmUp]), tool];
    const access: JobAccess = {
      username: user?.username,
      tls: runnerTls(deployment.access.tls, plan),
      runners: plan.runners,
    };
    const phases = runs.map((run) => this.tool.phase(run, access, deployment));
    const companion = await this.tool.sidecar?.();
    const startSeconds = (timeoutMs ?? POD_TIMEOUT_MS) / 1000;
    const runSeconds = phases.reduce((total, { timeoutSeconds }) => total + timeoutSeconds, 0);
    const name = nameFor(servers);
    const prefix = `${name}${tagOf(primary)}`;
    const objects = benchmarkJob({
      name,
      namespace: servers.namespace,
      image: imageOf(this.options, servers),
      servers,
      runner: plan,
      keys: prefix,
      phases,
      sidecar: companion,
      files: companion?.files,
      user,
      tls: deployment.access.tls,
      timeoutSeconds: Math.ceil(startSeconds + runSeconds),
      deadlineSeconds: Math.ceil(startSeconds + runSeconds + DEADLINE_SLACK_SECONDS),
    });
    const run = new JobRun(this.kubernetes, objects, runnerKeys(prefix), primary, phases, this.tool.program, {
      timeoutMs,
      signal,
      report,
    });
    try {
      signal.throwIfAborted();
      await run.start(otherwise(servers));
      if (warmUp !== undefined) await run.runPhase(1);
      await watch.begin();
      const startedAt = new Date().toISOString();
      const begunMs = await run.runPhase(phases.length);
      await watch.end();
      const { records, machines } = await run.read();
      const limit = plan.resources?.limits?.["cpu"];
      return jobOutcome({
        tool: this.tool,
        phases: runs,
        seed: phases.at(-1)?.seed ?? 0,
        startedAt,
        begunMs,
        records,
        machines,
        cpuLimit: limit === undefined ? undefined : parseQuantity(limit),
        servers: new Set(servers.nodes.map(({ machine }) => machine)),
        sharing: plan.sharing,
      });
    } finally {
      await run.remove();
    }
  }
}

/** valkey-benchmark, of which is asked what it can do. */
export class ValkeyBenchmarkJobRunner extends JobLoadRunner<ValkeyBenchmarkRun> implements ValkeyBenchmarkRunner {
  private constructor(
    kubernetes: KubernetesClient,
    options: JobLoadRunnerOptions,
    readonly features: ValkeyBenchmarkFeatures,
  ) {
    super(kubernetes, options, valkeyBenchmarkInJobs);
  }

  /**
   * Asks the tool in the image what it can do, by a Job that has to find a machine as the measuring ones will.
   * @throws BadInput when there is nothing to measure; Failure when a runner cannot be started, saying why
   */
  static async open(
    kubernetes: KubernetesClient,
    options: JobLoadRunnerOptions,
    signal: AbortSignal,
  ): Promise<ValkeyBenchmarkJobRunner> {
    const { deployments, plan } = options;
    const [first] = deployments;
    if (first === undefined) throw new BadInput("benchmark", ["there is no deployment to measure"]);
    const job = featuresJob({
      name: nameFor(first),
      namespace: first.namespace,
      image: imageOf(options, first),
      servers: first,
      runner: plan,
    });
    const help = await runFeaturesJob(kubernetes, job, otherwise(first), {
      timeoutMs: options.timeoutMs,
      signal,
      report: options.report,
    });
    return new ValkeyBenchmarkJobRunner(kubernetes, options, parseFeatures(help));
  }
}

/** The same for all deployments, so that they are compared by one load generator. */
function imageOf({ image, plan, deployments }: JobLoadRunnerOptions, fallback: KubernetesDeployment): string {
  return image ?? plan.image ?? (deployments[0] ?? fallback).image;
}

/** `bench-cluster-1a2b3c4d` */
function nameFor({ name }: KubernetesDeployment): string {
  return `bench-${name}-${randomBytes(4).toString("hex")}`;
}

function otherwise({ name }: KubernetesDeployment): string {
  return `allow load generators to share machines with ${name}'s servers, which every record will then say`;
}

/** Keys of a cluster must be the primary's own. */
function tagOf({ slots, name }: PrimaryNode): string {
  if (slots === undefined) return "";
  const [first] = slots;
  if (first === undefined) throw new Failure(`${name} has no slots`);
  return `:{${slotTags()[first.from] ?? ""}}`;
}
