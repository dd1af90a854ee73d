/** Results suffice to judge and repeat a run. Names contain units. Unknown values are null, never 0. */
import { z } from "zod";
import { scenarioRecordSchema } from "../../faults/scenarios/record-schema";
import { countSchema, warningSchema, measurementSchema, requestMixSchema } from "./measurement-schema";
import { studySchema } from "./study-schema";
import { modeSchema, topologySchema } from "../../valkey/verification/topology-record";
import { machineSchema } from "../../platforms/kubernetes/cluster/machine";

export { WARNING_CODES, measurementSchema } from "./measurement-schema";
export type { Warning, MeasurementRecord, OpenLoopCounts } from "./measurement-schema";

/** Version of the format. The version increases if a program for an older version could misread a newer file. */
export const SCHEMA_VERSION = 1;

/** The highest offered load that met an objective, with the loads that were tried. */
const capacitySchema = z.strictObject({
  deployment: z.string(),
  mode: modeSchema,
  workload: z.string(),
  /**
   * Number of the reference load that was sent before the search. The reference load after the search has the next
   * number. Older results do not contain this field.
   */
  round: z.int().min(1).nullable().default(null),
  /**
   * The load of the search, without its rate. The rate differs between probes. The numbers of clients and workers are
   * per runner. Older results do not contain this field.
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
  /** The objective. `quantile` is 0.99 for a 99th percentile. */
  objective: z.strictObject({ quantile: z.number().gt(0).lt(1), ms: z.number().gt(0) }),
  /** Requests per second. 0 if not even the lowest tried rate met the objective. */
  capacity: countSchema,
  /** Whether even the highest allowed rate met the objective, so that the real capacity can be higher. */
  isOpenEnded: z.boolean(),
  /**
   * Results for each tried rate, in ascending order of the rates. Probes with the same rate are merged into one entry.
   */
  points: z.array(
    z.strictObject({
      rate: countSchema,
      probes: countSchema,
      /** Number of probes at this offered rate that met the latency objective. */
      held: countSchema,
      /** Answered requests per second. */
      achieved: countSchema,
      /** Latency at the objective's percentile, milliseconds. */
      ms: countSchema,
      p50Ms: countSchema,
      p99Ms: countSchema,
      lagP99Ms: countSchema,
      histogram: z.string(),
    }),
  ),
  /** The rate above which latency rises faster than load. Null if no such rate was found. */
  knee: countSchema.nullable(),
  /** The bottleneck at the lowest rate that missed the objective. Null if every rate met the objective. */
  bottleneck: z
    .strictObject({ at: z.enum(["client", "server", "machine", "none"]), text: z.string().optional() })
    .nullable(),
  warnings: z.array(warningSchema),
});
export type CapacityRecord = z.infer<typeof capacitySchema>;
export type CapacityLoad = NonNullable<CapacityRecord["load"]>;

/** The reference load: a fixed load that is sent before each round and after the last round. */
const referenceLoadSchema = z.strictObject({
  round: z.int().min(1),
  rps: countSchema,
  startedAt: z.iso.datetime(),
});
export type ReferenceLoadRecord = z.infer<typeof referenceLoadSchema>;

/** The state of a deployment at its verification, with the number of keys after the run. */
const measuredTopologySchema = topologySchema.extend({
  nodes: z.array(
    topologySchema.shape.nodes.element.extend({
      /** Number of keys after the run. */
      keysAfter: countSchema.nullable(),
    }),
  ),
});
export type MeasuredTopology = z.infer<typeof measuredTopologySchema>;

/** The machine on which this program runs, and all other machines of the run. */
const environmentSchema = z.strictObject({
  platform: z.string(),
  kernel: z.string(),
  hostname: z.string(),
  cpuModel: z.string(),
  cores: countSchema,
  /** Cores that affinity and quota allow this program to use. */
  coresAvailable: countSchema,
  memoryBytes: countSchema,
  memoryFreeBytes: countSchema,
  /** Load average over 1, 5 and 15 minutes, before the run. */
  loadAverage: z.array(countSchema),
  governor: z.string().nullable(),
  transparentHugePages: z.string().nullable(),
  overcommitMemory: z.string().nullable(),
  somaxconn: z.string().nullable(),
  node: z.string(),
  programs: z.strictObject({ version: z.string(), source: z.string() }).nullable(),
  /**
   * Machines of the Kubernetes cluster on which servers and load generators run. The list is empty without a Kubernetes
   * cluster.
   */
  machines: z.array(machineSchema).default([]),
});
export type Environment = z.infer<typeof environmentSchema>;

/** Cost of a deployment's servers. The cost exists only if the prices of all machines of these servers are known. */
const costSchema = z.strictObject({
  deployment: z.string(),
  usdPerHour: countSchema,
  /** Memory request of each server's pod, bytes. Absent if servers are not pods, or if the request is unknown. */
  memoryBytes: countSchema.optional(),
  /** Number of machines of each type. A machine on which other servers run as well counts as a fraction. */
  machines: z.array(z.strictObject({ type: z.string(), count: countSchema })),
  region: z.string(),
  /** Date of the prices. */
  date: z.string(),
});

export type DeploymentCost = z.infer<typeof costSchema>;

/** Schema of results.json. */
export const resultsSchema = z.strictObject({
  schema: z.literal(SCHEMA_VERSION),
  /** Time of the run, UTC, such as `20261121-090000`. */
  timestamp: z.string().regex(/^\d{8}-\d{6}$/),
  stack: z.string(),
  /** Whether all requested results exist. If false, `reason` says why a result is missing. */
  complete: z.boolean(),
  reason: z.string().nullable(),
  configuration: z.unknown(),
  environment: environmentSchema,
  topologies: z.array(measuredTopologySchema),
  referenceLoads: z.array(referenceLoadSchema),
  /** Costs of the deployments. Deployments whose machines have no known price are absent. */
  costs: z.array(costSchema).optional(),
  records: z.array(measurementSchema),
  /** The results of the study, if the run was a study. */
  study: studySchema.optional(),
  capacities: z.array(capacitySchema).default([]),
  /** Results of the faults that were injected. */
  scenarios: z.array(scenarioRecordSchema).default([]),
});
export type Results = z.infer<typeof resultsSchema>;
