/** Arguments of a deployment's backup to an S3 bucket, and of the restore with which a new deployment begins. */
import type * as pulumi from "@pulumi/pulumi";
import type { BACKUP_FIELDS, BUCKET_FIELDS, RESTORE_FIELDS, RESTORE_POD_FIELDS } from "../../model/backup";
import type { Fields } from "../../model/fields";

/** A bucket, the place of an archive in it, and the credentials of the pod that uses it. */
export interface BucketArgs extends Fields<typeof BUCKET_FIELDS> {
  /** Name of an existing S3 bucket. */
  readonly bucket: pulumi.Input<string>;
  /**
   * Beginning of the names of all objects. Each deployment needs its own prefix.
   * @default "NAMESPACE/NAME"
   */
  readonly prefix?: pulumi.Input<string> | undefined;
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
export interface BackupArgs extends BucketArgs, Fields<typeof BACKUP_FIELDS> {
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
export interface RestoreFromArgs
  extends Partial<BucketArgs>, Fields<typeof RESTORE_FIELDS>, Fields<typeof RESTORE_POD_FIELDS> {
  /**
   * Limit of the pod's disk space, as a Kubernetes quantity. The pod needs four times the size of the data.
   * @default no limit
   */
  readonly scratchSize?: string | undefined;
  /** Image with Node.js 20 or newer. @default `NODE_IMAGE` */
  readonly image?: string | undefined;
}
