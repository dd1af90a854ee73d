/** Fields of backups and restores that a stack file and a component share. */
import * as z from "zod";
import { wholeNumber } from "../lib/schema/fields";
import { typed } from "./fields";

/** Intervals of drills, which are restores for a test. */
export type DrillInterval = "daily" | "weekly" | "monthly";

/**
 * `absolute`: a restored key expires at the time at which the archived key would have expired. `remaining`: it gets the
 * TTL that the archived key had at the restored time.
 */
export const TTL_RULES = ["absolute", "remaining"] as const satisfies readonly TtlRule[];
export type TtlRule = "absolute" | "remaining";

/** Seconds between two bases (RDB files) of a shard. */
export const BASE_SECONDS = { min: 600, max: 2_592_000 } as const;

const size = z.string().regex(/^\d+(\.\d+)?(e\d+)?([kMGTPE]|[KMGTPE]i)?$/, "expected a quantity such as 512Mi or 2Gi");

export const BUCKET_FIELDS = {
  /** URL of an S3 server, such as `https://minio.example.com:9000`. @default AWS */
  endpoint: z.string().optional(),
};

export const BACKUP_FIELDS = {
  /** Seconds between two bases of a shard, 600 to 2592000. A base is a copy of all data. @default 86400, a day */
  baseEverySeconds: wholeNumber(BASE_SECONDS.min, BASE_SECONDS.max).default(86_400),
  /**
   * Seconds before now for which the data of every moment can be restored, 3600 to 31536000. At least
   * `baseEverySeconds`.
   * @default 604800, seven days
   */
  keepSeconds: wholeNumber(3_600, 31_536_000).default(604_800),
  /**
   * Encryption by the S3 server: `none`, `AES256`, `aws:kms`, or `aws:kms:KEY` with a key's ID, ARN or alias. `none`
   * means the bucket's own default.
   * @default "none"
   */
  encryption: z.string().default("none"),
  /**
   * Disk space of the pod for data that is not in the bucket yet, as a Kubernetes quantity. If the bucket cannot be
   * reached until this space is full, shards get new bases.
   * @default "4Gi"
   */
  spoolSize: size.default("4Gi"),
  /**
   * Interval of drills: `daily`, `weekly` or `monthly`. The CronJob `NAME-drill` then restores the last archived data for a
   * test, one shard after the other, and compares every key with the archive. The pod needs `drillMemory` while it runs.
   * `kubectl create job --from=cronjob/NAME-drill` starts a drill by hand.
   * @default no drills
   */
  drill: typed<DrillInterval>(z.enum(["daily", "weekly", "monthly"])).optional(),
  /**
   * Memory of the server that loads the data of one shard in a drill, as a Kubernetes quantity. Needs `drill`.
   * @default the memory limit of the deployment's servers
   */
  drillMemory: size.optional(),
};
export const BACKUP_DEFAULTS = z.object(BACKUP_FIELDS).parse({});

export const RESTORE_FIELDS = {
  /**
   * Time to restore, ISO 8601 with a time zone, such as `2026-11-24T08:00:00Z`.
   * @default the last time of the archive
   */
  at: z.string().optional(),
  /** Patterns of the keys to restore, in the syntax of the command KEYS, such as `app:*`. @default all keys */
  keys: z.array(z.string()).optional(),
  /**
   * TTLs of restored keys. `absolute`: keys expire at their times. `remaining`: from the beginning of the restore, keys
   * have the time left that they had at the restored time.
   * @default "absolute"
   */
  ttl: typed<TtlRule>(z.enum(TTL_RULES)).default("absolute"),
};

/** Fields of the pod that restores. */
export const RESTORE_POD_FIELDS = {
  /**
   * Memory for the data of one archived shard, as a Kubernetes quantity. The pod needs it until it ends.
   * @default the memory limit of a server of the deployment
   */
  memory: size.optional(),
  /** Time limit of the restore, seconds, 60 to 604800. @default 86400, a day */
  timeoutSeconds: wholeNumber(60, 604_800).optional(),
};
