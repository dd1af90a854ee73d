/** A series of measurements, the programs that send its loads, and the listener that receives its results. */
import type { MemtierRun } from "../load/memtier/arguments";
import type { OpenLoopRun } from "../load/open-loop/local-driver";
import type { ReportProgress } from "../../lib/progress";
import type { MeasurementRecord, ReferenceLoadRecord } from "../results/schema";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { Workload } from "../workloads/workload";
import type { LoadDriver } from "../load/load-driver";
import type { ValkeyBenchmarkDriver } from "../load/valkey-benchmark/driver";
import type { VerifiedDeployment } from "./session";

/** Measurements that belong together: every test and every workload on every deployment, in every round. */
export interface MeasurementSeries {
  readonly deployments: readonly VerifiedDeployment[];
  readonly workload: Workload;
  /** Mixed workloads, measured after the named tests in every round. */
  readonly mixedWorkloads?: readonly MixedWorkload[] | undefined;
  /** Number of rounds; with 0, only the reference load is measured. */
  readonly repeats: number;
  /**
   * Requests per second of the last reference load. A study sets it, because it measures its own reference loads.
   * @default the series measures a reference load before each round and after the last round
   */
  readonly referenceRate?: number | undefined;
}

/** Programs that send loads. */
export interface LoadDrivers {
  readonly valkeyBenchmark: ValkeyBenchmarkDriver;
  /** Driver for workloads whose load generator is `open-loop`; needed only for these. */
  readonly openLoop?: LoadDriver<OpenLoopRun> | undefined;
  /** Driver for workloads whose load generator is `memtier`; needed only for these. */
  readonly memtier?: LoadDriver<MemtierRun> | undefined;
  /** Aborting it ends the series. */
  readonly signal: AbortSignal;
}

/** Receives results as soon as they exist, so that a later failure loses none of them. */
export interface MeasurementListener {
  readonly progress: ReportProgress;
  readonly referenceLoad: (record: ReferenceLoadRecord) => void;
  readonly record: (record: MeasurementRecord) => void;
  /** Called with the unchanged output of a load generator. */
  readonly raw: (heading: string, output: string) => void;
}
