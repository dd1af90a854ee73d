/** Schema of a deployment's option `restoreFrom` in the stack file. */
import { z } from "zod";
import { TTL_RULES } from "../../../valkey/restoring/key-selection";

/** Schema of a restore. `valkey/restoring/restore-from.ts` checks the texts further. */
export const restoreFromSchema = z.strictObject({
  from: z.string().min(1).meta({
    description: "The archive: absolute path of a folder on this machine, or `s3://BUCKET/PREFIX`.",
  }),
  endpoint: z.string().optional().meta({
    description: "URL of an S3 server, such as `https://minio.example.com:9000`.",
    fallback: "AWS",
  }),
  region: z.string().optional().meta({
    description: "Region of the bucket.",
    fallback: "the region of the environment (`AWS_REGION`); with `endpoint`, `us-east-1`",
  }),
  pathStyle: z.boolean().optional().meta({
    description: "Whether request URLs contain the name of the bucket in the path instead of the host name.",
    fallback: "`true` with `endpoint`, else `false`",
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
