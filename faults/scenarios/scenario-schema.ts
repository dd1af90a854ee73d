/** The record of a fault: what was done, what it cost, and what was lost. Times are milliseconds from the fault; null is "not within the time there was". */
import { z } from "zod";

const count = z.int().min(0);
const ms = z.number().min(0);

const latencySchema = z.strictObject({ count, p50Ms: ms.nullable(), p99Ms: ms.nullable(), maxMs: ms.nullable() });

export const scenarioRecordSchema = z.strictObject({
  id: z.string(),
  scenario: z.string(),
  /** `kill-primary` … */
  fault: z.string(),
  description: z.string(),
  deployment: z.string(),
  mode: z.enum(["replication", "cluster"]),
  round: z.int().min(1),
  startedAt: z.iso.datetime(),
  victims: z.array(z.string()),
  warnings: z.array(z.string()),
  /** Null in replication mode. */
  nodeTimeoutMs: count.nullable(),
  /** Directives in force for the scenario alone. */
  settings: z.record(z.string(), z.string()),
  load: z.strictObject({
    /** Writes due per second. */
    rate: z.number(),
    bytes: count,
    timeoutMs: count,
    /** Replicas a write waits for (WAIT); 0 is the primary's word alone. */
    replicas: count,
  }),
  /** As clients see it: the longest time in which some shard acknowledged nothing, and when the last shard was back. */
  outage: z.strictObject({ longestMs: ms, overMs: ms.nullable() }),
  /** By the primary each shard had before. */
  shards: z.array(
    z.strictObject({ primary: z.string().nullable(), slots: z.string(), longestMs: ms, overMs: ms.nullable() }),
  ),
  /** Whether it took help to recover: a take-over that nobody elected, or nodes started again. */
  helped: z.boolean(),
  /** Every node that answers sees all slots served. */
  okMs: ms.nullable(),
  /** Every node is there, every replica linked. */
  redundantMs: ms.nullable(),
  /** No replica in its primary's zone. */
  zoneSafeMs: ms.nullable(),
  /** The verdict of verification passes. */
  verifiedMs: ms.nullable(),
  /** What verification found amiss in the end. */
  unwell: z.string().nullable(),
  /** Whether zones had to be made safe again. */
  repaired: z.boolean(),
  writes: z.strictObject({ due: count, acknowledged: count, failed: count, unknown: count, redirected: count }),
  errors: z.array(z.strictObject({ error: z.string(), outcome: z.enum(["failed", "unknown"]), count })),
  /** Of acknowledged writes, from when they were due. */
  latency: z.strictObject({ before: latencySchema, during: latencySchema, after: latencySchema }),
  /** Acknowledged writes that were not there after healing. */
  lost: z.strictObject({
    count,
    /** The first hundred; raw.txt has all. */
    writes: z.array(
      z.strictObject({ key: z.string(), number: count, found: z.union([count, z.enum(["gone", "damaged"])]) }),
    ),
  }),
  /** Writes of unknown outcome that were done; acknowledged ones that those may have overwritten. */
  unknownDone: count,
  undecided: count,
  anomalies: z.array(z.string()),
  /** Keys that could not be read back. */
  unread: count,
  whyUnread: z.string().nullable(),
  timeline: z.strictObject({
    fromMs: z.number(),
    stepMs: z.number(),
    acknowledged: z.array(count),
    failed: z.array(count),
    unknown: z.array(count),
  }),
  states: z.array(z.strictObject({ node: z.string(), atMs: z.number(), state: z.string() })),
  events: z.array(z.strictObject({ atMs: z.number(), what: z.string() })),
});
export type ScenarioRecord = z.infer<typeof scenarioRecordSchema>;

/** Lost writes that a record names. */
export const MAX_LOST_WRITES_LISTED = 100;
