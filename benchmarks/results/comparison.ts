/** The deployments of a run beside each other as plain data: a row per test and deployment. Pure. */
import { z } from "zod";
import { rowCost, storageCost } from "./cost";
import { compareDeployments } from "./rows";
import type { Results } from "./schema";

/** `low` and `high` bound the true median with this confidence. */
const interval = z.strictObject({ median: z.number(), low: z.number(), high: z.number(), confidence: z.number() });

export const comparisonSchema = z.strictObject({
  test: z.string(),
  /** Replication precedes clusters. */
  rows: z.array(
    z.strictObject({
      deployment: z.string(),
      /** Requests per second, by the load generator's clock. */
      rps: interval,
      p50Ms: z.number(),
      p99Ms: z.number(),
      /** 0 to 1; null where it is not known. */
      hitRatio: z.number().nullable(),
      /**
       * Cost of the servers' machines per million operations, and per month and GiB of maxmemory (else of the requested
       * memory); null where it is not known.
       */
      usdPerMillion: z.number().nullable(),
      usdPerGibMonth: z.number().nullable(),
      /** Codes of the reasons not to trust the row. */
      warnings: z.array(z.string()),
    }),
  ),
  /** Requests per second of the last deployment over the first; null with fewer than two. */
  speedUp: interval.nullable(),
});
/** One test on every deployment. */
export type Comparison = z.infer<typeof comparisonSchema>;

/** Every test on every deployment. */
export function comparisonOf(results: Results): Comparison[] {
  const perGib = (deployment: string): number | null => {
    const topology = results.topologies.find((each) => each.deployment === deployment);
    return topology === undefined ? null : storageCost(results, topology);
  };
  return compareDeployments(results).comparisons.map(({ title, rows, speedUp }) => ({
    test: title,
    rows: rows.flatMap((row) =>
      row === undefined
        ? []
        : [
            {
              deployment: row.deployment,
              rps: row.rps,
              p50Ms: row.p50Ms,
              p99Ms: row.p99Ms,
              hitRatio: row.hitRatio,
              usdPerMillion: rowCost(results, row),
              usdPerGibMonth: perGib(row.deployment),
              warnings: row.warnings.map(({ code }) => code),
            },
          ],
    ),
    speedUp: speedUp ?? null,
  }));
}

/** Results of measurements, without those of a study or of faults. */
export type MeasuredResults = Omit<Results, "study" | "scenarios">;

/** The results without latency distributions, which are long and which results.json has. */
export function withoutDistributions(results: Results): MeasuredResults {
  return {
    ...results,
    capacities: results.capacities.map((each) => ({
      ...each,
      points: each.points.map((point) => ({ ...point, histogram: "" })),
    })),
    records: results.records.map((record) => ({
      ...record,
      histogram: null,
      client: { ...record.client, percentiles: [], cumulative: [] },
    })),
  };
}
