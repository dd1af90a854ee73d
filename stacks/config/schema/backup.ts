import { z } from "zod";
import { BACKUP_FIELDS, BUCKET_FIELDS, RESTORE_FIELDS, RESTORE_POD_FIELDS } from "../../../model/backup";
import { objectName } from "../../../model/pods";

const credentialsSchema = z
  .strictObject({
    secretName: objectName.meta({
      description: "Name of a Secret in the namespace with the keys `accessKeyId` and `secretAccessKey`.",
    }),
  })
  .optional()
  .meta({
    description: "Keys for the bucket (platforms `kubernetes` and `eks`). Cannot be set together with `role`.",
    fallback: "`role`, or EKS Pod Identity",
  });

export const backupSchema = z.strictObject({
  bucket: z
    .string()
    .min(1)
    .optional()
    .meta({
      description:
        "Name of an existing S3 bucket. Without this key, the backup goes to the bucket of the platform `eks` " +
        "(`platform.backups`), and the stack creates the access to it.",
      fallback: "the bucket of the platform",
    }),
  prefix: z.string().optional().meta({
    description: "Beginning of the names of all objects. Each deployment needs its own prefix.",
    fallback: "`NAMESPACE/NAME`",
  }),
  ...BUCKET_FIELDS,
  region: z.string().optional().meta({
    description: "Region of the bucket.",
    fallback:
      "in the bucket of the platform, the region of the platform; with `role`, the region of the EKS cluster; with `endpoint`, `us-east-1`",
  }),
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
  from: z
    .string()
    .min(1)
    .meta({
      description:
        "The archive: `s3://BUCKET/PREFIX`, or on the platform `host` the absolute path of a folder on this machine. " +
        "The platform `host` takes the keys for the bucket from the environment.",
    }),
  ...BUCKET_FIELDS,
  region: z.string().optional().meta({
    description: "Region of the bucket.",
    fallback: "the region of the environment (`AWS_REGION`); with `endpoint`, `us-east-1`",
  }),
  pathStyle: z.boolean().optional().meta({
    description:
      "Whether request URLs contain the name of the bucket in the path instead of the host name (platform `host`).",
    fallback: "`true` with `endpoint`, else `false`",
  }),
  credentials: credentialsSchema,
  role: roleSchema("NAME-restore"),
  ...RESTORE_POD_FIELDS,
  ...RESTORE_FIELDS,
});

export type RestoreFromConfig = z.infer<typeof restoreFromSchema>;
