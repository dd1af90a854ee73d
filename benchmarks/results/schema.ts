/**
 * results.json: everything needed to judge and to repeat a run. Names contain units; unknown values are null, never 0.
 */
import { z } from "zod";
import { scenarioRecordSchema } from "../../faults/scenarios/scenario-schema";
import { countSchema, warningSchema, measurementSchema, requestMixSchema } from "./measurement-schema";
import { studySchema } from "./study-schema";
import { modeSchema, topologySchema } from "../../valkey/verification/topology-record";
import { machineSchema } from "../../platforms/kubernetes/cluster/machine";

export { WARNING_CODES, measurementSchema } from "./measurement-schema";
export type { Warning, MeasurementRecord, OpenLoopCounts } from "./measurement-schema";

/** Increases when a reader of an older version could misread a newer file. */
export const SCHEMA_VERSION = 1;

/** The highest offered load under which an objective held, with the loads that were tried. */
const capacitySchema = z.strictObject({
  deployment: z.string(),
  mode: modeSchema,
  workload: z.string(),
  /** Number of the reference load before the search; the one after it has the next. Not on record in older results. */
  round: z.int().min(1).nullable().default(null),
  /**
   * Load at each of the rates; clients and workers are those of each runner. Not on record in older results.
   */
  load: z
    .strictObject({
      requestMix: requestMixSchema,
      arrivals: z.string(),
      dataSize: countSchema,
      keySpace: countSchema,
      clients: countSchema,
      pipeline: countSchema,
      workers: countSchema,
      runners: countSchema,
    })
    .nullable()
    .default(null),
  /** `quantile` is 0.99 for a 99th percentile. */
  objective: z.strictObject({ quantile: z.number().gt(0).lt(1), ms: z.number().gt(0) }),
  /** Requests per second; 0 where not even the lowest that was tried held. */
  capacity: countSchema,
  /** Whether it held up to the highest that might be offered: it is that or more. */
  isOpenEnded: z.boolean(),
  /** Ascending in rate; probes of a rate merged by their counts. */
  points: z.array(
    z.strictObject({
      rate: countSchema,
      probes: countSchema,
      /** Probes in which the objective held. */
      held: countSchema,
      /** Answered per second. */
      achieved: countSchema,
      /** The objective's percentile. */
      ms: countSchema,
      p50Ms: countSchema,
      p99Ms: countSchema,
      lagP99Ms: countSchema,
      histogram: z.string(),
    }),
  ),
  /** The rate beyond which latency rises faster than load; null where there is none. */
  knee: countSchema.nullable(),
  /** The bottleneck at the lowest rate that missed the objective; null where every rate met it. */
  bottleneck: z
    .strictObject({ at: z.enum(["client", "server", "machine", "none"]), text: z.string().optional() })
    .nullable(),
  warnings: z.array(warningSchema),
});
export type CapacityRecord = z.infer<typeof capacitySchema>;
export type CapacityLoad = NonNullable<CapacityRecord["load"]>;

/** The fixed load before each round and after the last. */
export const referenceLoadSchema = z.strictObject({
  round: z.int().min(1),
  rps: countSchema,
  startedAt: z.iso.datetime(),
});
export type ReferenceLoadRecord = z.infer<typeof referenceLoadSchema>;

/** A deployment as verification found it, with the keys that a run left in it. */
export const measuredTopologySchema = topologySchema.extend({
  nodes: z.array(
    topologySchema.shape.nodes.element.extend({
      /** Keys after the run. */
      keysAfter: countSchema.nullable(),
    }),
  ),
});
export type MeasuredTopology = z.infer<typeof measuredTopologySchema>;

/** The machine that this program runs on, and other machines of the run. */
const environmentSchema = z.strictObject({
  platform: z.string(),
  kernel: z.string(),
  hostname: z.string(),
  cpuModel: z.string(),
  cores: countSchema,
  /** After affinity and quota. */
  coresAvailable: countSchema,
  memoryBytes: countSchema,
  memoryFreeBytes: countSchema,
  /** Over 1, 5 and 15 minutes, before the run. */
  loadAverage: z.array(countSchema),
  governor: z.string().nullable(),
  transparentHugePages: z.string().nullable(),
  overcommitMemory: z.string().nullable(),
  somaxconn: z.string().nullable(),
  node: z.string(),
  programs: z.strictObject({ version: z.string(), source: z.string() }).nullable(),
  /** Those that servers and load generators run on, where that is a Kubernetes cluster. */
  machines: z.array(machineSchema).default([]),
});
export type Environment = z.infer<typeof environmentSchema>;

/** Cost of a deployment's servers, where the prices of all their machines are known. */
const costSchema = z.strictObject({
  deployment: z.string(),
  usdPerHour: countSchema,
  /** Memory request of each server's pod; absent if servers are not pods, or if it is not known. */
  memoryBytes: countSchema.optional(),
  /** A part of one that other servers share. */
  machines: z.array(z.strictObject({ type: z.string(), count: countSchema })),
  region: z.string(),
  /** Date of the prices. */
  date: z.string(),
});

export type DeploymentCost = z.infer<typeof costSchema>;

export const resultsSchema = z.strictObject({
  schema: z.literal(SCHEMA_VERSION),
  /** UTC, `20261121-090000`. */
  timestamp: z.string().regex(/^\d{8}-\d{6}$/),
  stack: z.string(),
  /** False when a requested result is missing; `reason` says why. */
  complete: z.boolean(),
  reason: z.string().nullable(),
  configuration: z.unknown(),
  environment: environmentSchema,
  topologies: z.array(measuredTopologySchema),
  referenceLoads: z.array(referenceLoadSchema),
  /** Costs of deployments whose machines' prices are known. */
  costs: z.array(costSchema).optional(),
  records: z.array(measurementSchema),
  /** Where the run was a study. */
  study: studySchema.optional(),
  capacities: z.array(capacitySchema).default([]),
  /** Faults that were injected. */
  scenarios: z.array(scenarioRecordSchema).default([]),
});
export type Results = z.infer<typeof resultsSchema>;
