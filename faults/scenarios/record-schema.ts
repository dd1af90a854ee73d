/** Times are in milliseconds from the fault; null if the event did not happen before the end. */
import { z } from "zod";

const count = z.int().min(0);
const ms = z.number().min(0);

const latencySchema = z.strictObject({ count, p50Ms: ms.nullable(), p99Ms: ms.nullable(), maxMs: ms.nullable() });

export const scenarioRecordSchema = z.strictObject({
  id: z.string(),
  scenario: z.string(),
  /** Kind of the fault, such as `kill-primary`. */
  fault: z.string(),
  description: z.string(),
  deployment: z.string(),
  mode: z.enum(["replication", "cluster"]),
  round: z.int().min(1),
  startedAt: z.iso.datetime(),
  victims: z.array(z.string()),
  warnings: z.array(z.string()),
  /** Node timeout, milliseconds; null in replication mode. */
  nodeTimeoutMs: count.nullable(),
  /** Directives that were set only for the scenario. */
  settings: z.record(z.string(), z.string()),
  load: z.strictObject({
    /** Number of writes that are due per second. */
    rate: z.number(),
    bytes: count,
    timeoutMs: count,
    /** Number of replicas for which each write waits (WAIT). With 0, the acknowledgement of the primary is enough. */
    replicas: count,
  }),
  /**
   * The outage that clients see: the longest time in which any shard acknowledged no write, and the time at which the
   * last outage ended.
   */
  outage: z.strictObject({ longestMs: ms, overMs: ms.nullable() }),
  /** Outage of each shard. A shard is named by its primary before the fault. */
  shards: z.array(
    z.strictObject({ primary: z.string().nullable(), slots: z.string(), longestMs: ms, overMs: ms.nullable() }),
  ),
  /** Whether slots were served only after assistance: a take-over without election, or a restart of killed nodes. */
  assisted: z.boolean(),
  /** Time at which every node that replied reported all slots as served. */
  okMs: ms.nullable(),
  /** Time at which every node was up and every replica was linked. */
  redundantMs: ms.nullable(),
  /** Time at which no replica was in the zone of its primary. */
  zoneSafeMs: ms.nullable(),
  /** Time at which verification passed. */
  verifiedMs: ms.nullable(),
  /** The assertions of verification that failed until the recovery timeout; null if verification passed. */
  recoveryFailure: z.string().nullable(),
  /** Whether roles were moved because a failover left a replica in the zone of its primary. */
  repaired: z.boolean(),
  writes: z.strictObject({ due: count, acknowledged: count, failed: count, unknown: count, redirected: count }),
  errors: z.array(z.strictObject({ error: z.string(), outcome: z.enum(["failed", "unknown"]), count })),
  /** Latency of acknowledged writes. The latency is counted from the time at which the write was due. */
  latency: z.strictObject({ before: latencySchema, during: latencySchema, after: latencySchema }),
  /** Acknowledged writes whose values were missing after recovery. */
  lost: z.strictObject({
    count,
    /** The first 100 lost writes. All lost writes are in raw.txt. */
    writes: z.array(
      z.strictObject({ key: z.string(), number: count, found: z.union([count, z.enum(["gone", "damaged"])]) }),
    ),
  }),
  /**
   * Number of writes that were performed although the client did not learn their outcome. `undecided` is the number of
   * acknowledged writes that a write with an unknown outcome may have overwritten.
   */
  unknownDone: count,
  undecided: count,
  anomalies: z.array(z.string()),
  /** Keys that could not be read back. */
  unread: count,
  unreadReason: z.string().nullable(),
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

export const MAX_LOST_WRITES_LISTED = 100;
