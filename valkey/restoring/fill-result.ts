/** Result of filling a deployment in a pod. The pod writes it as JSON to its termination message. */
import * as z from "zod";

/**
 * Environment variable of the pod: the time at which the restore began, milliseconds since the epoch. With the rule
 * `remaining`, TTLs count from this time.
 */
export const BEGAN_VARIABLE = "RESTORE_BEGAN";

const resultSchema = z.strictObject({
  /** First time as of which a shard was restored, ISO 8601. */
  from: z.string(),
  /** Last time as of which a shard was restored, ISO 8601. */
  to: z.string(),
  /** Number of archived shards. */
  shards: z.int(),
  /** Number of keys that were compared with the archive. */
  keys: z.int(),
  /** Number of archived keys whose TTL has passed. */
  expired: z.int(),
});

export type FillResult = z.infer<typeof resultSchema>;

/** Parses the termination message of a pod. @throws Error for any other text */
export function parseFillResult(text: string): FillResult {
  return resultSchema.parse(JSON.parse(text));
}
