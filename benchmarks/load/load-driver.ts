/** Driver of load generators: as processes on this machine, or in the pods of a Job. */
import { Failure } from "../../lib/errors";
import type { Histogram } from "../../lib/histogram";
import type { Deployment } from "../../valkey/deployment";
import type { MeasurementRecord, OpenLoopCounts, Warning } from "../results/schema";
import type { PrimaryNode } from "../workloads/prefill";
import type { LoadReport } from "./load-report";

/** Sends loads by one kind of load generator. @typeParam R what one run of that load generator is */
export interface LoadDriver<R> {
  /**
   * Load generators that run side by side. Each has the clients, the pipeline and the threads of the workload, its part
   * of the requests or of the rate, and a seed of its own, counted up from the run's.
   */
  readonly count: number;
  /**
   * Runs all load generators once, at the same time.
   * @throws LoadGeneratorFailure when one fails, hangs or prints something unknown; Failure when one cannot be started;
   * the signal's reason
   */
  run(request: LoadRequest<R>, observer: LoadObserver, signal: AbortSignal): Promise<LoadOutcome>;
}

/** Reader of the servers' counters around a run. Between the two calls nothing else is sent. */
export interface LoadObserver {
  /** Awaited once everything is ready, before anything that counts is sent. */
  readonly begin: () => Promise<void>;
  /** Awaited once everything has been sent and answered; not called when a run fails. */
  readonly end: () => Promise<void>;
}

/** One load to send. */
export interface LoadRequest<R> {
  readonly deployment: Deployment;
  /** The primary whose endpoint the load generator is given. */
  readonly primary: PrimaryNode;
  readonly run: R;
  /** Sent before, and not counted. */
  readonly warmUp: R | undefined;
}

/** CPU of the load generators' side, as records have it. */
export type ClientCpu = Omit<MeasurementRecord["cpu"], "servers">;

/** Outcome of a load. */
export interface LoadOutcome {
  /** Report of all load generators together. */
  readonly report: LoadReport;
  /** Every latency counted, where the load generator reports them. */
  readonly latencies?: Histogram | undefined;
  /** Where an open loop sent the load. */
  readonly offering?: OpenLoopCounts | undefined;
  /** Interval that the report covers: milliseconds since the epoch, by the clock of this machine. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly startedAt: string;
  readonly outputs: readonly LoadGeneratorOutput[];
  readonly cpu: ClientCpu;
  /** Each load generator, where there are several or they run on other machines. */
  readonly runners: MeasurementRecord["runners"];
  /** Warnings about where and when the load generators ran. */
  readonly warnings: readonly Warning[];
}

/** Output of one load generator, unchanged. */
export interface LoadGeneratorOutput {
  readonly warmUp: boolean;
  /** `runner 2 on machine-1`; undefined for the only one. */
  readonly runner: string | undefined;
  /** Its arguments, without secrets. */
  readonly command: readonly string[];
  readonly text: string;
}

/** A load generator failed. Its output goes into raw.txt all the same. */
export class LoadGeneratorFailure extends Failure {
  /** Whether it had to be killed because it did not end. */
  readonly hung: boolean;
  /** Whether its machine or its pod was taken away, which says nothing of the load. */
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

/** Seconds for which a load generator may run beyond its length. */
export const TIMEOUT_MARGIN_SECONDS = 10;
