/** A benchmark of the project itself. */
import type { ReportProgress } from "../../lib/progress";
import type { BenchRow } from "./row";
import type { Workbench } from "./workbench";

/** Measures one or several rows. */
export interface Benchmark {
  readonly title: string;
  /** Ids of its rows, in the order of the table. */
  readonly ids: readonly string[];
  readonly run: (order: BenchmarkContext) => Promise<void>;
}

/** One run of a benchmark. */
export interface BenchmarkContext {
  readonly workbench: Workbench;
  /** Ids of the rows to measure. */
  readonly wanted: ReadonlySet<string>;
  readonly report: ReportProgress;
  /** Takes each row as soon as it exists. */
  readonly emit: (result: BenchRow) => void;
  /** Takes a row that this machine cannot measure, and the reason. */
  readonly skip: (id: string, why: string) => void;
}
