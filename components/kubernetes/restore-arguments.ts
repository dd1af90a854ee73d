/** Arguments of the restore with which a new deployment begins. */
import type { TtlRule } from "../../valkey/restoring/key-selection";
import type { BucketArgs } from "./backup-arguments";

/**
 * Archive whose data a new deployment gets (docs/restore.md). After the servers have formed, a pod writes the data and
 * compares every key of every server with the archive. The outputs of the component are known after that. A later change
 * of this argument restores nothing. A deployment that has data already is refused.
 */
export interface RestoreFromArgs extends Partial<BucketArgs> {
  /**
   * Time to restore, ISO 8601 with a time zone, such as `2026-11-24T08:00:00Z`.
   * @default the last time of the archive
   */
  readonly at?: string | undefined;
  /** Patterns of the keys to restore, in the syntax of the command KEYS, such as `app:*`. @default all keys */
  readonly keys?: readonly string[] | undefined;
  /**
   * `absolute`: keys expire at their times. `remaining`: from the beginning of the restore, keys have the time left that
   * they had at the restored time.
   * @default "absolute"
   */
  readonly ttl?: TtlRule | undefined;
  /**
   * Memory for the data of one archived shard, as a Kubernetes quantity. The pod needs it until it ends.
   * @default the memory limit of a server of the deployment
   */
  readonly memory?: string | undefined;
  /**
   * Limit of the pod's disk space, as a Kubernetes quantity. The pod needs four times the size of the data.
   * @default no limit
   */
  readonly scratchSize?: string | undefined;
  /** Time limit of the restore, seconds, 60 to 604800. @default 86400, a day */
  readonly timeoutSeconds?: number | undefined;
  /** Image with Node.js 20 or newer. @default `NODE_IMAGE` */
  readonly image?: string | undefined;
}
