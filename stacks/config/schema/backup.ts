/** Schema of a deployment's option `backup` in the stack file. */
import { z } from "zod";
import { BASE_SECONDS, DRILL_INTERVALS, KEEP_SECONDS } from "../../../archiver/pod-settings";
import { wholeNumber } from "../../../lib/schema/fields";
import { credentialsSchema, endpointSchema, roleSchema } from "./bucket";
import { quantity } from "./pod-options";

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

/** A deployment's backup, parsed. */
export type BackupConfig = z.infer<typeof backupSchema>;
