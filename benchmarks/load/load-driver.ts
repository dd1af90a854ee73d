/** A driver of load generators, which run as processes on this machine or in the pods of a Job. */
import { Failure } from "../../lib/errors";
import type { Histogram } from "../../lib/histogram";
import type { Deployment } from "../../valkey/deployment";
import type { MeasurementRecord, OpenLoopCounts, Warning } from "../results/schema";
import type { PrimaryNode } from "../workloads/prefill";
import type { LoadReport } from "./load-report";

/** Sends loads with one kind of load generator. @typeParam R one run of that load generator */
export interface LoadDriver<R> {
  /**
   * Number of load generators that run side by side. Each of them has the clients, the pipeline and the threads of the
   * workload, and its share of the requests or of the rate. Each has its own seed, counted up from the seed of the run.
   */
  readonly count: number;
  /**
   * Runs all load generators once, at the same time.
   * @throws LoadGeneratorFailure if one fails, hangs or prints output that cannot be parsed; Failure if one cannot be
   *   started; the signal's reason
   */
  run(request: LoadRequest<R>, observer: LoadObserver, signal: AbortSignal): Promise<LoadOutcome>;
}

/** Reads the servers' counters before and after a run. Between its two calls, nothing except the load is sent. */
export interface LoadObserver {
  /** Awaited when everything is ready, before the measured load is sent. */
  readonly begin: () => Promise<void>;
  /** Awaited when everything has been sent and answered. It is not called if a run fails. */
  readonly end: () => Promise<void>;
}

/** One load to send. */
export interface LoadRequest<R> {
  readonly deployment: Deployment;
  /** The primary whose endpoint the load generator gets. */
  readonly primary: PrimaryNode;
  readonly run: R;
  /** Load that is sent before and does not count; undefined for no warm-up. */
  readonly warmUp: R | undefined;
}

/** CPU use on the load generators' side, in the form of records. */
export type ClientCpu = Omit<MeasurementRecord["cpu"], "servers">;

/** Outcome of a load. */
export interface LoadOutcome {
  /** Report of all load generators together. */
  readonly report: LoadReport;
  /** All counted latencies, if the load generator reports them. */
  readonly latencies?: Histogram | undefined;
  /** Counts of the offered load, if an open loop sent it. */
  readonly offering?: OpenLoopCounts | undefined;
  /**
   * Beginning and end of the time that the report covers: milliseconds since the epoch, by the clock of this machine.
   */
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly outputs: readonly LoadGeneratorOutput[];
  readonly cpu: ClientCpu;
  /** Results of each load generator, if there are several or they run on other machines. */
  readonly runners: MeasurementRecord["runners"];
  /** Warnings about the places and times at which the load generators ran. */
  readonly warnings: readonly Warning[];
}

/** Output of one load generator, unchanged. */
export interface LoadGeneratorOutput {
  readonly warmUp: boolean;
  /** Name of the load generator, `runner 2 on machine-1`; undefined if there is only one. */
  readonly runner: string | undefined;
  /** Arguments of the load generator, without secrets. */
  readonly command: readonly string[];
  readonly text: string;
}

/** A load generator failed. Its output is still written to raw.txt. */
export class LoadGeneratorFailure extends Failure {
  /** Whether the load generator was killed because it did not end. */
  readonly hung: boolean;
  /** Whether its machine or its pod was taken away. This tells nothing about the load. */
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

/** Seconds for which a load generator may run in addition to its planned duration. */
export const TIMEOUT_MARGIN_SECONDS = 10;
