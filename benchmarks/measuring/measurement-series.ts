/** A series of measurements, the drivers that send the loads, and the listener that receives the results. */
import type { MemtierRun } from "../load/memtier/arguments";
import type { OpenLoopRun } from "../load/open-loop/local-driver";
import type { ReportProgress } from "../../lib/progress";
import type { MeasurementRecord, ReferenceLoadRecord } from "../results/schema";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { Workload } from "../workloads/workload";
import type { LoadDriver } from "../load/load-driver";
import type { ValkeyBenchmarkDriver } from "../load/valkey-benchmark/local-driver";
import type { VerifiedDeployment } from "./session";

/** Measurements that belong together: every test and every workload on every deployment, in every round. */
export interface MeasurementSeries {
  readonly deployments: readonly VerifiedDeployment[];
  readonly workload: Workload;
  /** Mixed workloads, measured after the named tests in every round. */
  readonly mixedWorkloads?: readonly MixedWorkload[] | undefined;
  /** Number of rounds. With 0, only the reference load is measured. */
  readonly repeats: number;
  /**
   * Requests per second of the latest reference load. A study sets this value, because a study measures reference loads
   * itself.
   * @default the series measures a reference load before each round and after the last round
   */
  readonly referenceRate?: number | undefined;
}

/** Drivers that send loads. */
export interface LoadDrivers {
  readonly valkeyBenchmark: ValkeyBenchmarkDriver;
  /** Driver for workloads with the load generator `open-loop`. A series without such workloads does not need it. */
  readonly openLoop?: LoadDriver<OpenLoopRun> | undefined;
  /** Driver for workloads with the load generator `memtier`. A series without such workloads does not need it. */
  readonly memtier?: LoadDriver<MemtierRun> | undefined;
  /** Abort signal that ends the series. */
  readonly signal: AbortSignal;
}

/** Receives results as soon as they exist. So a later failure loses no result. */
export interface MeasurementListener {
  readonly progress: ReportProgress;
  readonly referenceLoad: (record: ReferenceLoadRecord) => void;
  readonly record: (record: MeasurementRecord) => void;
  /** Called with the unchanged output of a load generator. */
  readonly raw: (heading: string, output: string) => void;
}
