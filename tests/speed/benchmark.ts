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

/** Measures if a row is wanted. Skips the wanted rows if something is missing. @param missing what is missing; undefined if nothing is */
export async function measureOrSkip(
  context: BenchmarkContext,
  ids: readonly string[],
  missing: string | undefined,
  measure: (context: BenchmarkContext) => Promise<void>,
): Promise<void> {
  const wanted = ids.filter((id) => context.wanted.has(id));
  if (wanted.length === 0) return;
  if (missing === undefined) await measure(context);
  else for (const id of wanted) context.skip(id, missing);
}
