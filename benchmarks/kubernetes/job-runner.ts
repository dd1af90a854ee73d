/** The load generator as a Kubernetes Job: one for each run of the tool, removed when its results are read. */
import { randomBytes } from "node:crypto";
import { BadInput, Failure } from "../errors";
import type { ToolOutcome, ToolRequest, ToolRunner, Watch } from "../measuring/tool-runner";
import { patience } from "../measuring/tool-runner";
import type { Report } from "../progress";
import type { ToolFeatures } from "../valkey-benchmark/features";
import { featuresIn } from "../valkey-benchmark/features";
import { slotTags } from "../workloads/key-space";
import type { PrimaryTarget } from "../workloads/prefill";
import type { Kubernetes } from "./access";
import type { RunnerPlan } from "./benchmark-job";
import { benchmarkJob, featuresJob } from "./benchmark-job";
import type { KubernetesDeployment } from "./deployment";
import { outcomeOf } from "./job-outcome";
import { JobRun, runFeaturesJob } from "./job-run";
import { POD_TIMEOUT_MS } from "./pods";
import { parseQuantity } from "./quantity";
import { runnerKeys } from "./runner-script";

export interface JobRunnerOptions {
  readonly plan: RunnerPlan;
  /** Those that will be measured. */
  readonly deployments: readonly KubernetesDeployment[];
  /** The tool's; the same for all deployments, so that they are compared by one load generator. @default the first deployment's */
  readonly image?: string | undefined;
  /** How long runners may take to start, milliseconds. @default 300000 */
  readonly timeoutMs?: number | undefined;
  /** Told what is awaited. */
  readonly report?: Report | undefined;
}

/** What Kubernetes ends a Job after, beyond all that it may take, seconds. */
const DEADLINE_SLACK_SECONDS = 120;

export class JobRunner implements ToolRunner {
  private constructor(
    private readonly kubernetes: Kubernetes,
    private readonly options: JobRunnerOptions,
    private readonly image: string,
    readonly features: ToolFeatures,
  ) {}

  /**
   * Asks the tool in the image what it can do, by a Job that has to find a machine as the measuring ones will.
   * @throws BadInput when there is nothing to measure; Failure when a runner cannot be started, saying why
   */
  static async open(kubernetes: Kubernetes, options: JobRunnerOptions, signal: AbortSignal): Promise<JobRunner> {
    const { deployments, plan } = options;
    const [first] = deployments;
    if (first === undefined) throw new BadInput("benchmark", ["there is no deployment to measure"]);
    const image = options.image ?? plan.image ?? first.image;
    const job = featuresJob({ name: nameFor(first), namespace: first.namespace, image, servers: first, runner: plan });
    const help = await runFeaturesJob(kubernetes, job, otherwise(first), { timeoutMs: options.timeoutMs, signal, report: options.report });
    return new JobRunner(kubernetes, options, image, featuresIn(help));
  }

  get count(): number {
    return this.options.plan.runners;
  }

  async run({ deployment, primary, tool, warmUp }: ToolRequest, watch: Watch, signal: AbortSignal): Promise<ToolOutcome> {
    const servers = this.options.deployments.find(({ name }) => name === deployment.name);
    if (servers === undefined) throw new Error(`${deployment.name} is none of the deployments to measure`);
    const { plan } = this.options;
    const limit = plan.resources?.limits?.["cpu"];
    const phases = [...(warmUp === undefined ? [] : [warmUp]), tool];
    const startSeconds = (this.options.timeoutMs ?? POD_TIMEOUT_MS) / 1000;
    const runSeconds = phases.reduce((total, phase) => total + patience(phase), 0);
    const name = nameFor(servers);
    const prefix = `${name}${tagOf(primary)}`;
    const tls = deployment.access.tls;
    const objects = benchmarkJob({
      name,
      namespace: servers.namespace,
      image: this.image,
      servers,
      runner: plan,
      keys: prefix,
      phases,
      user: tool.credentials,
      tls,
      patienceSeconds: Math.ceil(startSeconds + runSeconds),
      deadlineSeconds: Math.ceil(startSeconds + runSeconds + DEADLINE_SLACK_SECONDS),
    });
    const { timeoutMs, report } = this.options;
    const run = new JobRun(this.kubernetes, objects, runnerKeys(prefix), primary, phases, { timeoutMs, signal, report });
    try {
      signal.throwIfAborted();
      await run.start(otherwise(servers));
      if (warmUp !== undefined) await run.carryOut(1);
      await watch.begin();
      const startedAt = new Date().toISOString();
      const begunMs = await run.carryOut(phases.length);
      await watch.end();
      const { records, machines } = await run.read();
      return outcomeOf({
        phases,
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

/** `bench-cluster-1a2b3c4d` */
function nameFor({ name }: KubernetesDeployment): string {
  return `bench-${name}-${randomBytes(4).toString("hex")}`;
}

function otherwise({ name }: KubernetesDeployment): string {
  return `allow load generators to share machines with ${name}'s servers, which every record will then say`;
}

/** Keys of a cluster must be the primary's own. */
function tagOf({ slots, name }: PrimaryTarget): string {
  if (slots === undefined) return "";
  const [first] = slots;
  if (first === undefined) throw new Failure(`${name} has no slots`);
  return `:{${slotTags()[first.from] ?? ""}}`;
}
