/**
 * Request for a series of measurements, the programs that send its loads, and the listener that takes its
 * results.
 */
import type { MemtierRun } from "../load/memtier/arguments";
import type { OpenLoopRun } from "../load/open-loop/local-driver";
import type { ReportProgress } from "../../lib/progress";
import type { MeasurementRecord, ReferenceLoadRecord } from "../results/schema";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { Workload } from "../workloads/workload";
import type { LoadDriver } from "../load/load-driver";
import type { ValkeyBenchmarkDriver } from "../load/valkey-benchmark/driver";
import type { VerifiedDeployment } from "./session";

/** Measurements that belong together: every test and workload on every deployment, in every round. */
export interface MeasurementSeries {
  readonly deployments: readonly VerifiedDeployment[];
  readonly workload: Workload;
  /** Measured after the workload's tests, each in every round. */
  readonly mixedWorkloads?: readonly MixedWorkload[] | undefined;
  /** Rounds; 0 measures only the reference load. */
  readonly repeats: number;
  /**
   * Requests per second of the last reference load, for a study, which measures its own.
   * @default the series measures a reference load before each round and after the last
   */
  readonly referenceRate?: number | undefined;
}

/** Programs that send loads. */
export interface LoadDrivers {
  readonly valkeyBenchmark: ValkeyBenchmarkDriver;
  /** Needed for workloads of the load generator `open-loop`. */
  readonly openLoop?: LoadDriver<OpenLoopRun> | undefined;
  /** Needed for workloads of the load generator `memtier`. */
  readonly memtier?: LoadDriver<MemtierRun> | undefined;
  /** Ends the series. */
  readonly signal: AbortSignal;
}

/** Takes results as soon as they exist, so that a later failure loses none of them. */
export interface MeasurementListener {
  readonly progress: ReportProgress;
  readonly referenceLoad: (record: ReferenceLoadRecord) => void;
  readonly record: (record: MeasurementRecord) => void;
  /** Takes the unchanged output of a load generator. */
  readonly raw: (heading: string, output: string) => void;
}
