/** The plan and the messages of the process, each one line of JSON on standard input or output. */
import { z } from "zod";
import { type OpenLoopWorkload, ARRIVALS, DATA_KINDS, READ_FROM } from "../../workloads/mixed-workload";
import { tallySchema } from "../tally";

const endpoint = z.strictObject({ host: z.string(), port: z.int() });

const keys = z.discriminatedUnion("distribution", [
  z.strictObject({ distribution: z.literal("uniform") }),
  z.strictObject({ distribution: z.literal("zipfian"), theta: z.number() }),
  z.strictObject({ distribution: z.literal("hot-set"), keys: z.number(), requests: z.number() }),
]);

const values = z.discriminatedUnion("sizes", [
  z.strictObject({ sizes: z.literal("fixed"), bytes: z.int() }),
  z.strictObject({ sizes: z.literal("uniform"), min: z.int(), max: z.int() }),
  z.strictObject({ sizes: z.literal("lognormal"), median: z.number(), sigma: z.number(), max: z.int() }),
  z.strictObject({
    sizes: z.literal("weighted"),
    list: z.array(z.strictObject({ bytes: z.int(), weight: z.number() })),
  }),
]);

export const openLoopPlanSchema = z.strictObject({
  mode: z.enum(["replication", "cluster"]),
  /**
   * Endpoints of the servers. In replication mode, the first endpoint is the primary, and all others are replicas. In
   * cluster mode, the endpoints are any nodes.
   */
  endpoints: z.array(endpoint).min(1),
  /** Credentials and TLS options. Paths of certificates are paths on the machine where the process runs. */
  access: z.strictObject({
    username: z.string().optional(),
    password: z.string().optional(),
    tls: z
      .strictObject({
        cacert: z.string().optional(),
        cert: z.string().optional(),
        key: z.string().optional(),
        sni: z.string().optional(),
        insecure: z.boolean(),
        anyName: z.boolean().optional(),
      })
      .optional(),
  }),
  data: z.enum(DATA_KINDS),
  reads: z.number(),
  keySpace: z.int(),
  keys,
  values,
  arrivals: z.enum(ARRIVALS),
  /** Requests per second, the sum of all workers of all processes. */
  rate: z.number(),
  clients: z.int(),
  pipeline: z.int(),
  readFrom: z.enum(READ_FROM),
  timeoutMs: z.number(),
  /** Highest number of requests of this process that wait for a connection. */
  queue: z.number(),
  seconds: z.number(),
  seed: z.int(),
  workers: z.int(),
  /** Number of this process, from 0. */
  process: z.int(),
  processes: z.int(),
});
export type OpenLoopPlan = z.infer<typeof openLoopPlanSchema>;

export const processMessageSchema = z.discriminatedUnion("event", [
  /** All connections are open, and the process waits for the start command. */
  z.strictObject({ event: z.literal("ready") }),
  z.strictObject({
    event: z.literal("result"),
    tallies: z.array(tallySchema),
    /** Time at which the process sent the result, milliseconds since the epoch. */ endedMs: z.number().optional(),
  }),
  z.strictObject({ event: z.literal("failed"), message: z.string() }),
]);
export type ProcessMessage = z.infer<typeof processMessageSchema>;

export const START_COMMAND = "go";
/** Line on standard input that stops the load early. After this line, the process sends its result. */
export const STOP_COMMAND = "stop";

export function workloadPlan({
  name: _name,
  loadGenerator: _loadGenerator,
  warmup: _warmup,
  length,
  values: sizes,
  ...shared
}: OpenLoopWorkload): Omit<OpenLoopPlan, "mode" | "endpoints" | "access" | "seed" | "process" | "processes"> {
  return {
    ...shared,
    values: sizes.sizes === "weighted" ? { sizes: "weighted", list: sizes.list.map((each) => ({ ...each })) } : sizes,
    seconds: length.seconds,
  };
}
