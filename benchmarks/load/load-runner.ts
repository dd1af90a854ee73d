/** Who runs a load generator: a process on this machine, or something else that can be told to run one. */
import type { Deployment } from "../../valkey/deployment";
import { Failure } from "../../lib/errors";
import type { Histogram } from "../../lib/histogram";
import type { Warning, MeasurementRecord, Offering } from "../results/schema";
import type { ValkeyBenchmarkRun } from "./valkey-benchmark/arguments";
import type { ValkeyBenchmarkFeatures } from "./valkey-benchmark/features";
import type { LoadReport } from "./valkey-benchmark/output";
import type { PrimaryNode } from "../workloads/prefill";

/** Runs loads of one load generator. @typeParam R what one run of that load generator is */
export interface LoadRunner<R> {
  /**
   * Load generators that run side by side. Each has the clients, the pipeline and the threads of the workload, its part of the
   * requests or of the rate, and a seed of its own: the run's, and those that follow it.
   */
  readonly count: number;
  /**
   * Runs the tool once, everywhere at the same time.
   * @throws ToolFailure when the tool fails, hangs or prints what is not understood; Failure when it cannot be run; the signal's reason
   */
  run(request: LoadRequest<R>, watch: LoadObserver, signal: AbortSignal): Promise<LoadOutcome>;
}

/** Runs valkey-benchmark. */
export interface ValkeyBenchmarkRunner extends LoadRunner<ValkeyBenchmarkRun> {
  readonly features: ValkeyBenchmarkFeatures;
}

/** What looks at the servers beside a run: nothing but the run itself is sent between the two. */
export interface LoadObserver {
  /** Awaited when all is ready and nothing that counts has been sent. */
  readonly begin: () => Promise<void>;
  /** Awaited when everything has been sent and answered; not called when that is not reached. */
  readonly end: () => Promise<void>;
}

export interface LoadRequest<R> {
  readonly deployment: Deployment;
  /** The one whose endpoint the tool is given. */
  readonly primary: PrimaryNode;
  readonly run: R;
  /** Run before, and not counted. */
  readonly warmUp: R | undefined;
}

export type ValkeyBenchmarkRequest = LoadRequest<ValkeyBenchmarkRun>;

/** CPU of the load generators' side, as records have it. */
export type ClientCpu = Omit<MeasurementRecord["cpu"], "servers">;

export interface LoadOutcome {
  /** Of all load generators together. */
  readonly report: LoadReport;
  /** Every count of the latencies, where the load generator gives them. */
  readonly latencies?: Histogram | undefined;
  /** Of an open loop. */
  readonly offering?: Offering | undefined;
  /** By the clock of this machine, milliseconds since the epoch: the time the report counts. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly outputs: readonly LoadGeneratorOutput[];
  readonly cpu: ClientCpu;
  /** One for each where there are several or they run elsewhere. */
  readonly runners: MeasurementRecord["runners"];
  /** What is given a warning about where and when they ran. */
  readonly warnings: readonly Warning[];
}

/** What one run of the tool printed, untouched. */
export interface LoadGeneratorOutput {
  readonly warmUp: boolean;
  /** `runner 2 on machine-1`; undefined where there is one only. */
  readonly runner: string | undefined;
  /** Arguments; secrets are replaced. */
  readonly command: readonly string[];
  readonly text: string;
}

/** A tool that failed: what it printed goes into raw.txt all the same. */
export class LoadGeneratorFailure extends Failure {
  /** Whether it did not end by itself. */
  readonly hung: boolean;

  constructor(
    message: string,
    readonly output: string,
    options: ErrorOptions & { readonly hung?: boolean } = {},
  ) {
    super(message, options);
    this.name = "ToolFailure";
    this.hung = options.hung ?? false;
  }
}

/** What one of several load generators runs: its part of the requests and of the rate, and a seed of its own. */
export function runnerShare(tool: ValkeyBenchmarkRun, index: number, count: number): ValkeyBenchmarkRun {
  const part = (whole: number): number => Math.floor(whole / count) + (index < whole % count ? 1 : 0);
  const { rate } = tool.workload;
  return {
    ...tool,
    seed: tool.seed + index,
    length: "requests" in tool.length ? { requests: part(tool.length.requests) } : tool.length,
    workload: { ...tool.workload, rate: rate === undefined ? undefined : part(rate) },
  };
}

/** How much longer than asked for the tool may run before it is given up on, seconds. */
export const TIMEOUT_MARGIN_SECONDS = 10;
/** How long a number of requests may take, seconds. */
const REQUESTS_PATIENCE_SECONDS = 3600;

/** Seconds after which a run of the tool hangs. */
export function runTimeoutSeconds({ length }: ValkeyBenchmarkRun): number {
  return "seconds" in length ? length.seconds + TIMEOUT_MARGIN_SECONDS : REQUESTS_PATIENCE_SECONDS;
}
