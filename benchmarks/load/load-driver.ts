/** A driver starts load generators, either as processes on this machine or in the pods of a Job. */
import { Failure } from "../../lib/errors";
import type { CumulativeCount, Histogram } from "../../lib/histogram";
import type { Deployment } from "../../valkey/deployment";
import type { MeasurementRecord, OpenLoopCounts, Warning } from "../results/schema";
import type { PrimaryNode } from "../workloads/prefill";

/** Sends loads with one kind of load generator. @typeParam R one run of that load generator */
export interface LoadDriver<R> {
  /**
   * Number of load generators that run side by side. Each load generator has the clients, the pipeline and the threads
   * of the workload. The requests or the rate are divided among the load generators. The first load generator has the
   * seed of the run, and each further load generator has the next higher number.
   */
  readonly count: number;
  /**
   * Runs all load generators once, at the same time.
   * @throws LoadGeneratorFailure if a load generator fails, hangs or prints output that cannot be parsed; Failure if a
   *   load generator cannot be started; the signal's reason if the signal is aborted
   */
  run(request: LoadRequest<R>, observer: LoadObserver, signal: AbortSignal): Promise<LoadOutcome>;
}

/**
 * Reads the servers' counters before and after a run. Between the calls of `begin` and `end`, the load generators send
 * the measured load, and nothing else is sent.
 */
export interface LoadObserver {
  /**
   * Called when the load generators are ready. The driver waits until this function has ended, and then sends the
   * measured load.
   */
  readonly begin: () => Promise<void>;
  /**
   * Called when all requests have been sent and answered. The driver waits until this function has ended. If a run
   * fails, the driver does not call this function.
   */
  readonly end: () => Promise<void>;
}

export interface LoadRequest<R> {
  readonly deployment: Deployment;
  /** The primary whose endpoint the load generator gets. */
  readonly primary: PrimaryNode;
  readonly run: R;
  /** Load that is sent before the measured load and is not measured; undefined for no warm-up. */
  readonly warmUp: R | undefined;
}

/** CPU use of the load generators and of their machines, in the form of records. */
export type ClientCpu = Omit<MeasurementRecord["cpu"], "servers">;

/**
 * Results of one run of a load generator. Latencies are in milliseconds. With a pipeline, a latency is the time of a
 * whole batch of requests.
 */
export interface LoadReport {
  readonly title: string;
  readonly requests: number;
  readonly rate: number;
  /**
   * Duration of the run, seconds. It is computed from the number of requests and the rate, because valkey-benchmark
   * prints the duration with fewer digits than these two values.
   */
  readonly seconds: number;
  readonly avgMs: number;
  readonly minMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Number of requests with at most each latency, ascending, from "Latency by percentile distribution". */
  readonly percentiles: readonly CumulativeCount[];
  /**
   * Number of requests with at most each latency, from "Cumulative distribution of latencies". The steps are 0.1 ms up
   * to 2 ms, and 1 ms above. Steps at which the number does not change are absent.
   */
  readonly cumulative: readonly CumulativeCount[];
}

export interface LoadOutcome {
  readonly report: LoadReport;
  /** Latencies of all counted requests, if the load generator reports them. */
  readonly latencies?: Histogram | undefined;
  /** Counts of the offered load, if the load generator is an open loop. */
  readonly offering?: OpenLoopCounts | undefined;
  /**
   * Beginning and end of the time that the report covers, milliseconds since the epoch by the clock of this machine.
   */
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly outputs: readonly LoadGeneratorOutput[];
  readonly cpu: ClientCpu;
  /** Results of each load generator. The list is empty for a single load generator on the machine of this program. */
  readonly runners: MeasurementRecord["runners"];
  /** Warnings about where and when the load generators ran. */
  readonly warnings: readonly Warning[];
}

export interface LoadGeneratorOutput {
  readonly warmUp: boolean;
  /** Name of the load generator, such as `runner 2 on machine-1`; undefined if there is only one load generator. */
  readonly runner: string | undefined;
  /** Arguments of the load generator, without secrets. */
  readonly command: readonly string[];
  readonly text: string;
}

/** A load generator failed. The output of this load generator is written to raw.txt nevertheless. */
export class LoadGeneratorFailure extends Failure {
  /** Whether the load generator hung and was killed. */
  readonly hung: boolean;
  /** Whether the machine or the pod of the load generator was lost. Such a failure is not caused by the load. */
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

/**
 * Seconds that are added to the planned duration of a load generator. The load generator must have ended within the
 * total time.
 */
export const TIMEOUT_MARGIN_SECONDS = 10;
