/** Schemas of a deployment's options `backup` and `restoreFrom` in the stack file. */
import { z } from "zod";
import { BASE_SECONDS, DRILL_INTERVALS, KEEP_SECONDS } from "../../../backup/archiver/pod-settings";
import { wholeNumber } from "../../../lib/schema/fields";
import { quantity, objectName } from "./pod-options";
import { RESTORE_SECONDS } from "../../../components/kubernetes/restoring/restore-problems";
import { TTL_RULES } from "../../../backup/restoring/key-selection";

/** Schema of the URL of an S3 server. */
const endpointSchema = z.string().optional().meta({
  description: "URL of an S3 server, such as `https://minio.example.com:9000`.",
  fallback: "AWS",
});

/** Schema of the Secret with a pod's keys for the bucket. */
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

/** Schema of a deployment's backup. `components/kubernetes/archive/backup-problems.ts` checks the texts further. */
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
  endpoint: endpointSchema,
  region: z.string().optional().meta({
    description: "Region of the bucket.",
    fallback:
      "in the bucket of the platform, the region of the platform; with `role`, the region of the EKS cluster; with `endpoint`, `us-east-1`",
  }),
  credentials: credentialsSchema,
  role: roleSchema("NAME-archive"),
  baseEverySeconds: wholeNumber(BASE_SECONDS.min, BASE_SECONDS.max).default(BASE_SECONDS.default).meta({
    description: "Time between two bases of a shard. A base is a copy of all data.",
    unit: "seconds",
  }),
  keepSeconds: z.int().min(KEEP_SECONDS.min).max(KEEP_SECONDS.max).default(KEEP_SECONDS.default).meta({
    description: "Time for which every instant can be restored. At least `baseEverySeconds`.",
    unit: "seconds",
  }),
  encryption: z.string().default("none").meta({
    description:
      "Encryption by the S3 server: `none` (the bucket's own default), `AES256`, `aws:kms`, or `aws:kms:KEY` with a key's ID, ARN or alias.",
  }),
  spoolSize: quantity.default("4Gi").meta({
    description: "Disk space of the pod for what the bucket has not taken yet.",
  }),
  drill: z
    .enum(DRILL_INTERVALS)
    .optional()
    .meta({
      description:
        "Interval of drills. A drill restores the last archived data for a test, and compares every key with the archive. " +
        "It needs `drillMemory` while it runs.",
      fallback: "no drills",
    }),
  drillMemory: quantity.optional().meta({
    description: "Memory of the server that loads the data of one shard in a drill. Needs `drill`.",
    fallback: "the memory limit of the deployment's servers",
  }),
});

export type BackupConfig = z.infer<typeof backupSchema>;

/** @param serviceAccount name of the pod's service account */
function roleSchema(serviceAccount: string): z.ZodOptional<z.ZodString> {
  return z
    .string()
    .optional()
    .meta({
      description: `ARN of an IAM role that the pod takes (IRSA). Its trust policy must allow the service account \`${serviceAccount}\`.`,
      fallback: "`credentials`, or EKS Pod Identity",
    });
}

/** Schema of a restore. `backup/restoring/restore-from.ts` checks the texts further. */
export const restoreFromSchema = z.strictObject({
  from: z
    .string()
    .min(1)
    .meta({
      description:
        "The archive: `s3://BUCKET/PREFIX`, or on the platform `host` the absolute path of a folder on this machine. " +
        "The platform `host` takes the keys for the bucket from the environment.",
    }),
  endpoint: endpointSchema,
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
  memory: quantity.optional().meta({
    description: "Memory for the data of one archived shard (platforms `kubernetes` and `eks`).",
    fallback: "the memory limit of the deployment's servers",
  }),
  timeoutSeconds: wholeNumber(RESTORE_SECONDS.min, RESTORE_SECONDS.max).optional().meta({
    description: "Time limit of the restore (platforms `kubernetes` and `eks`).",
    unit: "seconds",
    fallback: "`86400`, a day",
  }),
  at: z.string().optional().meta({
    description: "Time to restore, with a time zone, such as `2026-11-24T08:00:00Z`.",
    fallback: "the last time of the archive",
  }),
  keys: z.array(z.string()).optional().meta({
    description: "Patterns of the keys to restore, in the syntax of the command `KEYS`, such as `app:*`.",
    fallback: "all keys",
  }),
  ttl: z
    .enum(TTL_RULES)
    .default("absolute")
    .meta({
      description:
        "TTLs of restored keys. `absolute`: keys expire at the same time as the archived keys. `remaining`: keys have " +
        "the TTL that the archived keys had at the restored time.",
    }),
});

export type RestoreFromConfig = z.infer<typeof restoreFromSchema>;
