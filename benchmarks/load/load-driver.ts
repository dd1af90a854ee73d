import { Failure } from "../../lib/errors";
import type { CumulativeCount, Histogram } from "../../lib/histogram";
import type { Deployment } from "../../valkey/deployment";
import type { MeasurementRecord, OpenLoopCounts, Warning } from "../results/schema";
import type { PrimaryNode } from "../workloads/prefill";

export interface LoadDriver<R> {
  /**
   * Load generators side by side, each with all clients and threads of the workload; requests or the rate are divided.
   * The first has the seed of the run, each further one the next higher number.
   */
  readonly count: number;
  /**
   * @throws LoadGeneratorFailure if a load generator fails, hangs or prints output that cannot be parsed; Failure if a
   * load generator cannot be started; the signal's reason if the signal is aborted
   */
  run(request: LoadRequest<R>, observer: LoadObserver, signal: AbortSignal): Promise<LoadOutcome>;
}

/** Between the calls of `begin` and `end`, the load generators send the measured load, and nothing else is sent. */
export interface LoadObserver {
  readonly begin: () => Promise<void>;
  /** After all requests. Not called if a run fails. */
  readonly end: () => Promise<void>;
}

export interface LoadRequest<R> {
  readonly deployment: Deployment;
  readonly primary: PrimaryNode;
  readonly run: R;
  readonly warmUp: R | undefined;
}

export type ClientCpu = Omit<MeasurementRecord["cpu"], "servers">;

/** Latencies are in milliseconds. With a pipeline, a latency is the time of a whole batch of requests. */
export interface LoadReport {
  readonly title: string;
  readonly requests: number;
  readonly rate: number;
  /** Computed from requests and rate, because valkey-benchmark prints the duration with fewer digits. */
  readonly seconds: number;
  readonly avgMs: number;
  readonly minMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Number of requests with at most each latency, ascending, from "Latency by percentile distribution". */
  readonly percentiles: readonly CumulativeCount[];
  /** From "Cumulative distribution of latencies": steps of 0.1 ms up to 2 ms, and 1 ms above; no unchanged ones. */
  readonly cumulative: readonly CumulativeCount[];
}

export interface LoadOutcome {
  readonly report: LoadReport;
  readonly latencies?: Histogram | undefined;
  readonly offering?: OpenLoopCounts | undefined;
  /** Time that the report covers, milliseconds since the epoch by the clock of this machine. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly outputs: readonly LoadGeneratorOutput[];
  readonly cpu: ClientCpu;
  readonly runners: MeasurementRecord["runners"];
  readonly warnings: readonly Warning[];
}

export interface LoadGeneratorOutput {
  readonly warmUp: boolean;
  readonly runner: string | undefined;
  readonly command: readonly string[];
  readonly text: string;
}

/** The output of this load generator is written to raw.txt nevertheless. */
export class LoadGeneratorFailure extends Failure {
  readonly hung: boolean;
  /** Whether the machine or the pod of the load generator was lost, so the load is not the cause. */
  readonly interrupted: boolean;

  constructor(
    message: string,
    readonly output: string,
    options: ErrorOptions & { readonly hung?: boolean; readonly interrupted?: boolean } = {},
  ) {
    super(message, options);
    this.name = "LoadGeneratorFailure";
    this.hung = options.hung ?? false;
    this.interrupted = options.interrupted ?? false;
  }
}

/** Added to the planned duration: a load generator must have ended within the total time. */
export const TIMEOUT_MARGIN_SECONDS = 10;
