import * as z from "zod";
import { formatTime } from "../../archive/catalog";

/** Time at which the restore began, milliseconds since the epoch: with the rule `remaining`, TTLs count from it. */
export const BEGAN_VARIABLE = "RESTORE_BEGAN";
export const CHECK_VARIABLE = "RESTORE_CHECK";
/** Kubernetes keeps 4096 bytes of a termination message. */
const MOST_SHARDS = 50;

export const restoreResultSchema = z.strictObject({
  /** Time at which the comparison with the archive ended, ISO 8601. */
  restoredAt: z.string(),
  /**
   * Restored time of each archived shard, ISO 8601. If a pod has restored more than 50 shards, only the shards with the
   * first and with the last time.
   */
  shards: z.array(z.strictObject({ name: z.string(), at: z.string() })),
  /** Number of keys that were restored and compared. */
  keys: z.number(),
  /** Number of archived keys whose TTL had passed. */
  expired: z.number(),
});

/** Result of the restore of a deployment. */
export type RestoreResult = z.infer<typeof restoreResultSchema>;

interface FilledKeys {
  readonly shards: readonly { readonly name: string; readonly at: number }[];
  readonly keys: number;
  readonly expired: number;
}

export function resultOf({ shards, keys, expired }: FilledKeys): RestoreResult {
  return {
    restoredAt: new Date().toISOString(),
    shards: shards.map(({ name, at }) => ({ name, at: formatTime(at) })),
    keys,
    expired,
  };
}

export function formatResult({ shards, ...result }: RestoreResult): string {
  const byTime = shards.toSorted((a, b) => a.at.localeCompare(b.at));
  const listed = shards.length > MOST_SHARDS ? [...byTime.slice(0, 1), ...byTime.slice(-1)] : shards;
  return JSON.stringify({ ...result, shards: listed });
}

export function parseResult(text: string): RestoreResult {
  return restoreResultSchema.parse(JSON.parse(text));
}
