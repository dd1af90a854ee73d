import { z } from "zod";
import { Failure, messageOf } from "../../../lib/errors";
import { Histogram } from "../../../lib/histogram";
import { latencySummary } from "../merge-reports";
import type { Warning } from "../../results/schema";
import type { LoadReport } from "../load-driver";

const totals = z.object({
  "Connection Errors": z.number().default(0),
  "Percentile Latencies": z.object({ "Histogram log format": z.object({ "Compressed Histogram": z.string() }) }),
});

const resultsSchema = z.object({
  "ALL STATS": z.object({
    Runtime: z.object({ "Start time": z.number(), "Finish time": z.number(), "Total duration": z.number() }),
    Totals: totals,
  }),
});

interface MemtierResults {
  readonly fromMs: number;
  /** End time by the clock of memtier_benchmark, milliseconds since the epoch. */
  readonly toMs: number;
  readonly warnings: readonly Warning[];
  /** The totals that memtier_benchmark prints are not used: they omit replies that arrive in its last second. */
  readonly latencies: Histogram;
}

/** @throws Failure when the text is not JSON, lacks a value, or contains no replies */
export function parseMemtierResults(text: string): MemtierResults {
  let results: z.infer<typeof resultsSchema>;
  try {
    results = resultsSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Failure(`cannot read the results of memtier_benchmark (2.0 or newer is needed): ${messageOf(error)}`, {
      cause: error,
    });
  }
  const { Runtime: runtime, Totals: all } = results["ALL STATS"];
  const latencies = Histogram.decode(all["Percentile Latencies"]["Histogram log format"]["Compressed Histogram"]);
  // memtier_benchmark exits with status 0 even if no server listens.
  if (latencies.count === 0) throw new Failure("memtier_benchmark received no reply");
  return {
    fromMs: runtime["Start time"],
    toMs: runtime["Start time"] + runtime["Total duration"],
    warnings: connectionWarnings(all["Connection Errors"]),
    latencies,
  };
}

function connectionWarnings(lost: number): Warning[] {
  if (lost === 0) return [];
  return [{ code: "errors", text: `memtier_benchmark lost ${lost} connections during the measurement` }];
}

export function memtierReport({ fromMs, toMs, latencies }: MemtierResults, title: string): LoadReport {
  const seconds = Math.max(1, toMs - fromMs) / 1000;
  return { ...latencySummary(title, latencies), requests: latencies.count, rate: latencies.count / seconds, seconds };
}
