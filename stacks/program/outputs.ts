/**
 * Stack outputs: results.json's shape, with how to reach what was deployed and the comparison drawn. Nothing secret.
 * Latency distributions are left to results.json: Pulumi prints every output at every update.
 */
import { z } from "zod";
import { rowCost, storageCost } from "../../benchmarks/results/cost";
import { compareDeployments } from "../../benchmarks/results/rows";
import { resultsSchema } from "../../benchmarks/results/schema";
import type { Results, TopologyRecord } from "../../benchmarks/results/schema";
import type { StackPlan } from "../plan/stack-plan-types";
export const OUTPUTS_VERSION = 1;

const interval = z.strictObject({ median: z.number(), low: z.number(), high: z.number(), confidence: z.number() });

const endpointSchema = z.strictObject({
  deployment: z.string(),
  mode: z.enum(["replication", "cluster"]),
  addresses: z.array(z.string()),
});
export type EndpointOutput = z.infer<typeof endpointSchema>;

export const outputsSchema = z.strictObject({
  version: z.literal(OUTPUTS_VERSION),
  stack: z.string(),
  endpoints: z.array(endpointSchema),
  /** What the stack was planned to be on EKS, in numbers; null where the machines are there already. */
  planned: z
    .strictObject({
      region: z.string(),
      /** By the price table of the region, with its date; null where there is none. */
      usdPerHour: z.number().nullable(),
      pricesOf: z.string().nullable(),
      notCounted: z.array(z.string()),
      machines: z.array(z.strictObject({ pool: z.string(), type: z.string(), zone: z.string(), count: z.number() })),
      volumes: z.strictObject({ count: z.number(), gib: z.number() }),
    })
    .nullable(),
  /** Each with its verdict's rows. */
  topologies: resultsSchema.shape.topologies,
  /** Null where the stack asks for no measurements. */
  results: resultsSchema.nullable(),
  comparison: z.array(
    z.strictObject({
      test: z.string(),
      rows: z.array(
        z.strictObject({
          deployment: z.string(),
          rps: interval,
          p50Ms: z.number(),
          p99Ms: z.number(),
          hitRatio: z.number().nullable(),
          /** Of the servers' machines: per million operations, and per month and GiB of maxmemory (without, of the memory asked for); null where it is not known. */
          usdPerMillion: z.number().nullable(),
          usdPerGibMonth: z.number().nullable(),
          warnings: z.array(z.string()),
        }),
      ),
      /** Of the last deployment over the first; null with fewer than two. */
      speedUp: interval.nullable(),
    }),
  ),
});
export type StackOutputs = z.infer<typeof outputsSchema>;

/** @throws ZodError when something does not have its shape, which is a defect */
export function stackOutputs(
  { stack, eks }: Pick<StackPlan, "stack" | "eks">,
  endpoints: readonly EndpointOutput[],
  topologies: readonly TopologyRecord[],
  results: Results | null,
): StackOutputs {
  const comparison = results === null ? [] : compareDeployments(results).comparisons;
  const perGib = (deployment: string): number | null => {
    const topology = results?.topologies.find((each) => each.deployment === deployment);
    return results === null || topology === undefined ? null : storageCost(results, topology);
  };
  return outputsSchema.parse({
    version: OUTPUTS_VERSION,
    stack,
    endpoints,
    planned: eks === null ? null : plannedOutput(eks),
    topologies,
    results:
      results === null
        ? null
        : {
            ...results,
            capacities: results.capacities.map((each) => ({
              ...each,
              points: each.points.map((point) => ({ ...point, histogram: "" })),
            })),
            records: results.records.map((record) => ({
              ...record,
              client: { ...record.client, percentiles: [], cumulative: [] },
            })),
          },
    comparison: comparison.map(({ title, rows, speedUp }) => ({
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
                usdPerMillion: results === null ? null : rowCost(results, row),
                usdPerGibMonth: perGib(row.deployment),
                warnings: row.warnings.map(({ code }) => code),
              },
            ],
      ),
      speedUp: speedUp ?? null,
    })),
  });
}

function plannedOutput({ region, cost, machines, volumes }: NonNullable<StackPlan["eks"]>): StackOutputs["planned"] {
  return {
    region,
    usdPerHour: cost.usdPerHour ?? null,
    pricesOf: cost.date ?? null,
    notCounted: [...cost.notCounted],
    machines: machines.map(({ pool, type, zone, count }) => ({ pool, type, zone, count })),
    volumes: { ...volumes },
  };
}
