import { z } from "zod";
import { BACKUP_FIELDS, BUCKET_FIELDS, RESTORE_FIELDS, RESTORE_POD_FIELDS } from "../../../model/backup";
import { objectName } from "../../../model/pods";

const credentialsSchema = z
  .strictObject({
    /** Name of a Secret in the namespace with the keys `accessKeyId` and `secretAccessKey`. */
    secretName: objectName.clone(),
  })
  .optional()
  .meta({
    description: "Keys for the bucket (platforms `kubernetes` and `eks`). Cannot be set together with `role`.",
    fallback: "`role`, or EKS Pod Identity",
  });

export const backupSchema = z.strictObject({
  /**
   * Name of an existing S3 bucket. Without this key, the backup goes to the bucket of the platform `eks`
   * (`platform.backups`), and the stack creates the access to it.
   * @default the bucket of the platform
   */
  bucket: z.string().min(1).optional(),
  /** Beginning of the names of all objects. Each deployment needs its own prefix. @default `NAMESPACE/NAME` */
  prefix: z.string().optional(),
  ...BUCKET_FIELDS,
  /**
   * Region of the bucket.
   * @default in the bucket of the platform, the region of the platform; with `role`, the region of the EKS cluster;
   * with `endpoint`, `us-east-1`
   */
  region: z.string().optional(),
  credentials: credentialsSchema,
  role: roleSchema("NAME-archive"),
  ...BACKUP_FIELDS,
});

export type BackupConfig = z.infer<typeof backupSchema>;

function roleSchema(serviceAccount: string): z.ZodOptional<z.ZodString> {
  return z
    .string()
    .optional()
    .meta({
      description: `ARN of an IAM role that the pod takes (IRSA). Its trust policy must allow the service account \`${serviceAccount}\`.`,
      fallback: "`credentials`, or EKS Pod Identity",
    });
}

export const restoreFromSchema = z.strictObject({
  /**
   * The archive: `s3://BUCKET/PREFIX`, or on the platform `host` the absolute path of a folder on this machine. The
   * platform `host` takes the keys for the bucket from the environment.
   */
  from: z.string().min(1),
  ...BUCKET_FIELDS,
  /** Region of the bucket. @default the region of the environment (`AWS_REGION`); with `endpoint`, `us-east-1` */
  region: z.string().optional(),
  /**
   * Whether request URLs contain the name of the bucket in the path instead of the host name (platform `host`).
   * @default `true` with `endpoint`, else `false`
   */
  pathStyle: z.boolean().optional(),
  credentials: credentialsSchema,
  role: roleSchema("NAME-restore"),
  ...RESTORE_POD_FIELDS,
  ...RESTORE_FIELDS,
});

export type RestoreFromConfig = z.infer<typeof restoreFromSchema>;
