import type { MemtierRun } from "../load/memtier/arguments";
import type { OpenLoopRun } from "../load/open-loop/local-driver";
import type { ReportProgress } from "../../lib/progress";
import type { MeasurementRecord, ReferenceLoadRecord } from "../results/schema";
import type { MixedWorkload } from "../workloads/mixed-workload";
import type { Workload } from "../workloads/workload";
import type { LoadDriver } from "../load/load-driver";
import type { ValkeyBenchmarkDriver } from "../load/valkey-benchmark/local-driver";
import type { VerifiedDeployment } from "./session";

export interface MeasurementSeries {
  readonly deployments: readonly VerifiedDeployment[];
  readonly workload: Workload;
  readonly mixedWorkloads?: readonly MixedWorkload[] | undefined;
  /** With 0, only the reference load is measured. */
  readonly repeats: number;
  /** Requests per second; set by studies, which measure it. @default measured before each round and at the end */
  readonly referenceRate?: number | undefined;
}

export interface LoadDrivers {
  readonly valkeyBenchmark: ValkeyBenchmarkDriver;
  readonly openLoop?: LoadDriver<OpenLoopRun> | undefined;
  readonly memtier?: LoadDriver<MemtierRun> | undefined;
  readonly signal: AbortSignal;
}

/** Receives results as soon as they exist, so a later failure loses none. */
export interface MeasurementListener {
  readonly progress: ReportProgress;
  readonly referenceLoad: (record: ReferenceLoadRecord) => void;
  readonly record: (record: MeasurementRecord) => void;
  readonly raw: (heading: string, output: string) => void;
}
