import { z } from "zod";
import { rowCost, storageCost } from "./cost";
import { compareDeployments } from "./rows";
import type { Results } from "./schema";

const interval = z.strictObject({ median: z.number(), low: z.number(), high: z.number(), confidence: z.number() });

export const comparisonSchema = z.strictObject({
  test: z.string(),
  /** Results of the deployments. Deployments in replication mode come first, then clusters. */
  rows: z.array(
    z.strictObject({
      deployment: z.string(),
      /** Requests per second, by the load generator's clock. */
      rps: interval,
      p50Ms: z.number(),
      p99Ms: z.number(),
      /** Fraction of reads that found their key, 0 to 1. Null if unknown. */
      hitRatio: z.number().nullable(),
      /**
       * Cost of the servers' machines, dollars. Null if unknown. `usdPerMillion` is the cost per million operations.
       * `usdPerGibMonth` is the cost per month and GiB of maxmemory. For servers without maxmemory, the requested
       * memory counts.
       */
      usdPerMillion: z.number().nullable(),
      usdPerGibMonth: z.number().nullable(),
      /** Codes of warnings. A warning is a reason not to trust the result. */
      warnings: z.array(z.string()),
    }),
  ),
  /**
   * Requests per second of the last deployment, divided by the requests per second of the first deployment. Null if
   * there are fewer than two deployments.
   */
  speedUp: interval.nullable(),
});
/** The results of one test on every deployment. */
export type Comparison = z.infer<typeof comparisonSchema>;

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

/** Results of measurements, without the results of a study or of faults. */
export type MeasuredResults = Omit<Results, "study" | "scenarios">;

/** They are long; the file results.json contains them. */
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
