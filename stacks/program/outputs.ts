/** Outputs have no secrets, and no latency distributions, because Pulumi prints every output at every update. */
import { type RestoreResult, restoreResultSchema } from "../../backup/restoring/filling/fill-result";
import { z } from "zod";
import { type Comparison, type MeasuredResults, comparisonSchema } from "../../benchmarks/results/comparison";
import { resultsSchema } from "../../benchmarks/results/schema";
import { type TopologyRecord, topologySchema } from "../../valkey/verification/topology-record";
import type { StackPlan } from "../plan/stack-plan-types";
/** The version increases with every change that older programs would misread. */
const OUTPUTS_VERSION = 1;

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
  /** The plan on EKS in numbers; null on other platforms. */
  planned: z
    .strictObject({
      region: z.string(),
      /** Cost by the region's price table, US dollars per hour; null without such a table. */
      usdPerHour: z.number().nullable(),
      pricesOf: z.string().nullable(),
      notCounted: z.array(z.string()),
      machines: z.array(z.strictObject({ pool: z.string(), type: z.string(), zone: z.string(), count: z.number() })),
      volumes: z.strictObject({ count: z.number(), gib: z.number() }),
    })
    .nullable(),
  /** Consequences of each kind of failure, by deployment; empty lists on the platform `host`. */
  survives: z.record(
    z.string(),
    z.array(z.strictObject({ event: z.string(), loss: z.string(), lost: z.string(), out: z.string() })),
  ),
  /** Topology and verdict of each deployment. */
  topologies: z.array(topologySchema),
  /** Restores from archives, by deployment. Outputs of older programs lack them. */
  restored: z.record(z.string(), restoreResultSchema).default({}),
  /** Results of the measurements; null if the stack does not measure. */
  results: resultsSchema.nullable(),
  comparison: z.array(comparisonSchema),
});
export type StackOutputs = z.infer<typeof outputsSchema>;

/** @throws ZodError when a value does not match the schema, which is an internal error */
export function stackOutputs(
  { stack, eks, deployments }: Pick<StackPlan, "stack" | "eks" | "deployments">,
  endpoints: readonly EndpointOutput[],
  topologies: readonly TopologyRecord[],
  restored: Readonly<Record<string, RestoreResult>>,
  measured: { readonly results: MeasuredResults; readonly comparison: readonly Comparison[] } | null,
): StackOutputs {
  // The type lets the compiler compare the outputs with the schema.
  const outputs: z.input<typeof outputsSchema> = {
    version: OUTPUTS_VERSION,
    stack,
    endpoints: [...endpoints],
    planned: eks === null ? null : plannedOutput(eks),
    survives: Object.fromEntries(deployments.map(({ name, survives }) => [name, [...survives]])),
    topologies: [...topologies],
    restored,
    results: measured?.results ?? null,
    comparison: [...(measured?.comparison ?? [])],
  };
  return outputsSchema.parse(outputs);
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
