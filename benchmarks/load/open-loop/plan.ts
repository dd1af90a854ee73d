/** What a process of the generator is told, as plain data, and what it says: a line of JSON each, over its standard streams. */
import { z } from "zod";
import type { OpenLoopWorkload } from "../../workloads/mixed-workload";
import { ARRIVALS, DATA_KINDS, READ_FROM } from "../../workloads/mixed-workload";
import { tallySchema } from "./tally";

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
  /** Replication: the primary, then its replicas. A cluster: any nodes. */
  endpoints: z.array(endpoint).min(1),
  /** Files of certificates are the process' own. */
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
  /** Requests per second of all workers of all processes. */
  rate: z.number(),
  /** Connections of this process. */
  clients: z.int(),
  pipeline: z.int(),
  readFrom: z.enum(READ_FROM),
  timeoutMs: z.number(),
  /** Of this process. */
  queue: z.number(),
  seconds: z.number(),
  seed: z.int(),
  /** Of this process. */
  workers: z.int(),
  /** Which of how many processes this is. */
  process: z.int(),
  processes: z.int(),
});
export type OpenLoopPlan = z.infer<typeof openLoopPlanSchema>;

/** What a process says, a line each. */
export const processMessageSchema = z.discriminatedUnion("event", [
  /** All connections are there; it waits for `go`. */
  z.strictObject({ event: z.literal("ready") }),
  z.strictObject({
    event: z.literal("result"),
    tallies: z.array(tallySchema),
    /** When it said so, milliseconds since the epoch. */ endedMs: z.number().optional(),
  }),
  z.strictObject({ event: z.literal("failed"), message: z.string() }),
]);
export type ProcessMessage = z.infer<typeof processMessageSchema>;

/** What it is told after its plan. */
export const START_COMMAND = "go";
/** Ends the offering early; the result comes all the same. */
export const STOP_COMMAND = "stop";

/** The parts of a plan that a workload decides. */
export function workloadPlan(
  mix: OpenLoopWorkload,
): Omit<OpenLoopPlan, "mode" | "endpoints" | "access" | "seed" | "process" | "processes"> {
  const {
    data,
    reads,
    keySpace,
    keys: draws,
    values: sizes,
    arrivals,
    rate,
    clients,
    pipeline,
    readFrom,
    timeoutMs,
    queue,
    workers,
    length,
  } = mix;
  return {
    data,
    reads,
    keySpace,
    keys: draws,
    values: sizes.sizes === "weighted" ? { sizes: "weighted", list: sizes.list.map((each) => ({ ...each })) } : sizes,
    arrivals,
    rate,
    clients,
    pipeline,
    readFrom,
    timeoutMs,
    queue,
    workers,
    seconds: length.seconds,
  };
}
