/** Problems of the arguments of `restoreFrom`, and the bucket that it means. */
import { type Problem, problem } from "../../../lib/errors";
import { parseInstant } from "../../../backup/restoring/instant";
import { RESTORE_FIELDS, RESTORE_POD_FIELDS } from "../../../model/backup";
import { fieldProblems } from "../../../model/fields";
import { bucketProblems, sizeProblem, withFieldProblems } from "../archive/backup-problems";
import type { BackupArgs, BucketArgs, RestoreFromArgs } from "../backup-arguments";

/** Without a bucket of its own, that of the deployment's backup, with the same server, region and credentials. */
export function restoredBucket(
  { bucket, prefix, endpoint, region, credentials, role }: RestoreFromArgs,
  backup: BackupArgs | undefined,
): BucketArgs | undefined {
  if (bucket !== undefined) return { bucket, prefix, endpoint, region, credentials, role };
  if (backup === undefined) return undefined;
  const own = credentials === undefined && role === undefined ? backup : { credentials, role };
  return {
    bucket: backup.bucket,
    prefix: prefix ?? backup.prefix,
    endpoint: endpoint ?? backup.endpoint,
    region: region ?? backup.region,
    credentials: own.credentials,
    role: own.role,
  };
}

export function restoreProblems(args: RestoreFromArgs, backup: BackupArgs | undefined): Problem[] {
  const { at, keys = [], memory, scratchSize } = args;
  const bucket = restoredBucket(args, backup);
  const time = "a time with a time zone, such as 2026-11-24T08:00:00Z";
  return withFieldProblems(fieldProblems({ ...RESTORE_FIELDS, ...RESTORE_POD_FIELDS }, args), [
    ...(bucket === undefined
      ? [problem("no-bucket", "bucket", "it is missing, and the deployment has no backup")]
      : bucketProblems(bucket)),
    at === undefined || parseInstant(at) !== undefined
      ? undefined
      : problem("wrong-time", "at", `it is ${JSON.stringify(at)}; expected ${time}`),
    keys.includes("")
      ? problem("empty-pattern", "keys", 'it has an empty pattern; expected patterns such as "app:*"')
      : undefined,
    sizeProblem("memory", memory),
    sizeProblem("scratchSize", scratchSize),
  ]);
}
