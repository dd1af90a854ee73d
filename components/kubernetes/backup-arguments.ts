/** Arguments of a deployment's backup to an S3 bucket, and of the restore with which a new deployment begins. */
import type * as pulumi from "@pulumi/pulumi";
import type { DrillInterval } from "../../backup/archiver/pod-settings";
import type { TtlRule } from "../../backup/restoring/key-selection";

/** A bucket, the place of an archive in it, and the credentials of the pod that uses it. */
export interface BucketArgs {
  /** Name of an existing S3 bucket. */
  readonly bucket: pulumi.Input<string>;
  /**
   * Beginning of the names of all objects. Each deployment needs its own prefix.
   * @default "NAMESPACE/NAME"
   */
  readonly prefix?: pulumi.Input<string> | undefined;
  /** URL of an S3 server, such as `https://minio.example.com:9000`. @default AWS */
  readonly endpoint?: string | undefined;
  /** Region of the bucket. @default with `role`, the region of the EKS cluster; with `endpoint`, "us-east-1" */
  readonly region?: pulumi.Input<string> | undefined;
  /** Keys for the bucket. Cannot be set together with `role`. @default none: the pod uses `role`, or EKS Pod Identity */
  readonly credentials?: BackupCredentials | undefined;
  /**
   * ARN of an IAM role that the pod takes (IAM roles for service accounts, IRSA). Its trust policy must allow the service
   * account of the pod: `NAME-archive`, or `NAME-restore` for `restoreFrom`.
   * @default none: the pod uses `credentials`, or EKS Pod Identity
   */
  readonly role?: pulumi.Input<string> | undefined;
}

/**
 * Backup to an S3 bucket by the pod `NAME-archive` (docs/backup.md). A change of these arguments restarts only this pod.
 * If you remove the argument, `up` removes the pod, and the bucket keeps its objects.
 */
export interface BackupArgs extends BucketArgs {
  /** Seconds between two bases of a shard, 600 to 2592000. A base is a copy of all data. @default 86400, a day */
  readonly baseEverySeconds?: number | undefined;
  /**
   * Seconds before now for which the data of every moment can be restored, 3600 to 31536000.
   * @default 604800, seven days
   */
  readonly keepSeconds?: number | undefined;
  /**
   * Encryption by the S3 server: `none`, `AES256`, `aws:kms`, or `aws:kms:KEY` with a key's ID, ARN or alias. `none`
   * means the bucket's own default.
   * @default "none"
   */
  readonly encryption?: string | undefined;
  /**
   * Disk space of the pod for data that is not in the bucket yet, as a Kubernetes quantity. If the bucket cannot be
   * reached until this space is full, shards get new bases.
   * @default "4Gi"
   */
  readonly spoolSize?: string | undefined;
  /**
   * Interval of drills: `daily`, `weekly` or `monthly`. The CronJob `NAME-drill` then restores the last archived data for a
   * test, one shard after the other, and compares every key with the archive. The pod needs `drillMemory` while it runs.
   * `kubectl create job --from=cronjob/NAME-drill` starts a drill by hand.
   * @default no drills
   */
  readonly drill?: DrillInterval | undefined;
  /**
   * Memory of the server that loads the data of one shard in a drill, as a Kubernetes quantity. Needs `drill`.
   * @default the memory limit of the deployment's servers
   */
  readonly drillMemory?: string | undefined;
  /** Image with Node.js 20 or newer. @default `NODE_IMAGE` */
  readonly image?: string | undefined;
}

/** Keys for a bucket: the name of an existing Secret, or both keys. */
interface BackupCredentials {
  /** Name of a Secret in the namespace with the keys `accessKeyId` and `secretAccessKey`. */
  readonly secretName?: pulumi.Input<string> | undefined;
  /** ID of an access key. Needs `secretAccessKey`. */
  readonly accessKeyId?: pulumi.Input<string> | undefined;
  /** Secret access key. The Kubernetes Secret `NAME-archive` contains it, and Pulumi's state encrypts it. Secret. */
  readonly secretAccessKey?: pulumi.Input<string> | undefined;
}

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
