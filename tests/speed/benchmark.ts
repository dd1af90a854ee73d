/** What a benchmark is to the command that runs it. */
import type { Report } from "../../lib/progress";
import type { Result } from "./result";
import type { Workbench } from "./workbench";

export interface Benchmark {
  readonly title: string;
  /** Of the rows it can make, in the order of the table. */
  readonly ids: readonly string[];
  readonly run: (order: Order) => Promise<void>;
}

/** One run of a benchmark. */
export interface Order {
  readonly bench: Workbench;
  /** Some of the benchmark's ids. */
  readonly wanted: ReadonlySet<string>;
  readonly report: Report;
  /** Takes each row as soon as there is one. */
  readonly emit: (result: Result) => void;
  /** A row that cannot be made on this machine, and why. */
  readonly skip: (id: string, why: string) => void;
}
