/** Who runs a load generator: a process on this machine, or something else that can be told to run one. */
import type { Deployment } from "../../valkey/deployment";
import { Failure } from "../../lib/errors";
import type { Histogram } from "../../lib/histogram";
import type { Doubt, MeasurementRecord, Offering } from "../results/schema";
import type { ToolRun } from "./valkey-benchmark/arguments";
import type { ToolFeatures } from "./valkey-benchmark/features";
import type { ToolReport } from "./valkey-benchmark/output";
import type { PrimaryTarget } from "../workloads/prefill";

/** Runs loads of one driver. @typeParam R what one run of that driver is */
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
  run(request: LoadRequest<R>, watch: Watch, signal: AbortSignal): Promise<ToolOutcome>;
}

/** Runs valkey-benchmark. */
export interface ToolRunner extends LoadRunner<ToolRun> {
  readonly features: ToolFeatures;
}

/** What looks at the servers beside a run: nothing but the run itself is sent between the two. */
export interface Watch {
  /** Awaited when all is ready and nothing that counts has been sent. */
  readonly begin: () => Promise<void>;
  /** Awaited when everything has been sent and answered; not called when that is not reached. */
  readonly end: () => Promise<void>;
}

export interface LoadRequest<R> {
  readonly deployment: Deployment;
  /** The one whose endpoint the tool is given. */
  readonly primary: PrimaryTarget;
  readonly tool: R;
  /** Run before, and not counted. */
  readonly warmUp: R | undefined;
}

export type ToolRequest = LoadRequest<ToolRun>;

/** CPU of the load generators' side, as records have it. */
export type ClientCpu = Omit<MeasurementRecord["cpu"], "servers">;

export interface ToolOutcome {
  /** Of all load generators together. */
  readonly report: ToolReport;
  /** Every count of the latencies, where the driver gives them. */
  readonly latencies?: Histogram | undefined;
  /** Of an open loop. */
  readonly offering?: Offering | undefined;
  /** By the clock of this machine, milliseconds since the epoch: the time the report counts. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly outputs: readonly ToolOutput[];
  readonly cpu: ClientCpu;
  /** One for each where there are several or they run elsewhere. */
  readonly runners: MeasurementRecord["runners"];
  /** What is doubtful about where and when they ran. */
  readonly doubts: readonly Doubt[];
}

/** What one run of the tool printed, untouched. */
export interface ToolOutput {
  readonly warmUp: boolean;
  /** `runner 2 on machine-1`; undefined where there is one only. */
  readonly runner: string | undefined;
  /** Arguments; secrets are replaced. */
  readonly command: readonly string[];
  readonly text: string;
}

/** A tool that failed: what it printed goes into raw.txt all the same. */
export class ToolFailure extends Failure {
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
export function partOf(tool: ToolRun, index: number, count: number): ToolRun {
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
export const PATIENCE_SECONDS = 10;
/** How long a number of requests may take, seconds. */
const REQUESTS_PATIENCE_SECONDS = 3600;

/** Seconds after which a run of the tool hangs. */
export function patience({ length }: ToolRun): number {
  return "seconds" in length ? length.seconds + PATIENCE_SECONDS : REQUESTS_PATIENCE_SECONDS;
}
