/** What a benchmark is to the command that runs it. */
import type { ReportProgress } from "../../lib/progress";
import type { BenchRow } from "./row";
import type { Workbench } from "./workbench";

export interface Benchmark {
  readonly title: string;
  /** Of the rows it can make, in the order of the table. */
  readonly ids: readonly string[];
  readonly run: (order: BenchmarkContext) => Promise<void>;
}

/** One run of a benchmark. */
export interface BenchmarkContext {
  readonly workbench: Workbench;
  /** Some of the benchmark's ids. */
  readonly wanted: ReadonlySet<string>;
  readonly report: ReportProgress;
  /** Takes each row as soon as there is one. */
  readonly emit: (result: BenchRow) => void;
  /** A row that cannot be made on this machine, and why. */
  readonly skip: (id: string, why: string) => void;
}
