/** Schema of a deployment's option `restoreFrom` in the stack file. */
import { z } from "zod";
import { RESTORE_SECONDS } from "../../../components/kubernetes/restoring/restore-problems";
import { wholeNumber } from "../../../lib/schema/fields";
import { TTL_RULES } from "../../../valkey/restoring/key-selection";
import { credentialsSchema, endpointSchema, roleSchema } from "./bucket";
import { quantity } from "./pod-options";

/** Schema of a restore. `valkey/restoring/restore-from.ts` checks the texts further. */
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

/** Restore of a deployment as the stack file describes it. */
export type RestoreFromConfig = z.infer<typeof restoreFromSchema>;
