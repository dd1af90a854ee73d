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
/** Version of the outputs' format. A change that older readers would misread raises it. */
export const OUTPUTS_VERSION = 1;

const interval = z.strictObject({ median: z.number(), low: z.number(), high: z.number(), confidence: z.number() });

const endpointSchema = z.strictObject({
  deployment: z.string(),
  mode: z.enum(["replication", "cluster"]),
  addresses: z.array(z.string()),
});
/** Addresses of a deployment. */
export type EndpointOutput = z.infer<typeof endpointSchema>;

/** The stack output `valkey`. */
export const outputsSchema = z.strictObject({
  version: z.literal(OUTPUTS_VERSION),
  stack: z.string(),
  endpoints: z.array(endpointSchema),
  /** The plan on EKS in numbers; null on other platforms. */
  planned: z
    .strictObject({
      region: z.string(),
      /** By the region's price table; null without one. */
      usdPerHour: z.number().nullable(),
      pricesOf: z.string().nullable(),
      notCounted: z.array(z.string()),
      machines: z.array(z.strictObject({ pool: z.string(), type: z.string(), zone: z.string(), count: z.number() })),
      volumes: z.strictObject({ count: z.number(), gib: z.number() }),
    })
    .nullable(),
  /** Topology and verdict of each deployment. */
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
          /**
           * Cost of the servers' machines per million operations, and per month and GiB of maxmemory (else of the
           * requested
           * memory); null where it is not known.
           */
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
/** The stack output `valkey`, parsed. */
export type StackOutputs = z.infer<typeof outputsSchema>;

/** The stack outputs. @throws ZodError when a value has another shape, which is an internal error */
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
