/** memtier_benchmark's results as data. Pure; fixtures of real output are in tests/fixtures. */
import { z } from "zod";
import { Failure, messageOf } from "../../../lib/errors";
import { Histogram } from "../../../lib/histogram";
import { latencySummary } from "../merge-reports";
import type { Warning } from "../../results/schema";
import type { LoadReport } from "../valkey-benchmark/output";

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

export interface MemtierResults {
  /** By its own clock, milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly warnings: readonly Warning[];
  /** Of all requests: its own totals leave out what was answered after its last second had begun. */
  readonly latencies: Histogram;
}

/**
 * @param text of the file that `--json-out-file` names
 * @throws Failure when it lacks something
 */
export function parseMemtierResults(text: string): MemtierResults {
  let results: z.infer<typeof resultsSchema>;
  try {
    results = resultsSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new Failure(
      `memtier_benchmark wrote results that are not understood (2.0 or newer is needed): ${messageOf(error)}`,
      { cause: error },
    );
  }
  const { Runtime: runtime, Totals: all } = results["ALL STATS"];
  const latencies = Histogram.decode(all["Percentile Latencies"]["Histogram log format"]["Compressed Histogram"]);
  // It ends with status 0 when nobody listens, too.
  if (latencies.count === 0) throw new Failure("memtier_benchmark got no answer to anything it sent");
  return {
    fromMs: runtime["Start time"],
    toMs: runtime["Start time"] + runtime["Total duration"],
    warnings:
      all["Connection Errors"] === 0
        ? []
        : [
            {
              code: "errors",
              text: `${all["Connection Errors"]} connections of memtier_benchmark were lost meanwhile`,
            },
          ],
    latencies,
  };
}

/** As valkey-benchmark's is. */
export function memtierReport({ fromMs, toMs, latencies }: MemtierResults, title: string): LoadReport {
  const seconds = Math.max(1, toMs - fromMs) / 1000;
  return { ...latencySummary(title, latencies), requests: latencies.count, rate: latencies.count / seconds, seconds };
}
