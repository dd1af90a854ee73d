/** The S3 bucket of a platform for the backups of its deployments: arguments, defaults and problems. */
import { type Problem, problem, within } from "../../lib/errors";
import { compact } from "../../lib/compact";

/** Decision about the bucket when the program no longer declares it: it stays, or it is deleted with all its data. */
export const BUCKET_FATES = ["keep", "delete"] as const;
type BucketFate = (typeof BUCKET_FATES)[number];

/** Bucket for the backups of the deployments on a platform. Only deployments on the platform get access to it. */
export interface BackupBucketArgs {
  /**
   * Name of the new bucket. S3 has each name only once in the world.
   * @default the cluster's name, `-backups-` and digits
   */
  readonly bucketName?: string | undefined;
  /**
   * Name of a bucket that exists already, in the region and the account of the platform. Its settings stay as they are;
   * the platform creates only the access to it.
   * @default none: the platform creates a bucket
   */
  readonly existingBucket?: string | undefined;
  /**
   * Encryption of the bucket: `AES256`, `aws:kms` (the key of AWS for S3), or `aws:kms:ARN` with the ARN of your own
   * key. For an existing bucket, it only decides which key the deployments may use.
   * @default "AES256"
   */
  readonly encryption?: string | undefined;
  /**
   * Days for which S3 keeps an object after it was deleted or overwritten, 1 to 365. Until then, an administrator can
   * recover it, because the bucket has versions. Deployments cannot delete such versions.
   * @default 3
   */
  readonly keepDeletedDays?: number | undefined;
  /**
   * `keep`: `destroy` leaves the bucket with its backups and its settings in the account. `delete`: `destroy` deletes
   * the bucket with all backups. A change takes effect with the next `up`.
   * @default "keep"
   */
  readonly onDestroy?: BucketFate | undefined;
}

/** The bucket in a plan. */
export interface BackupBucketPlan {
  /** Name of the bucket; null if AWS generates it. */
  readonly name: string | null;
  /** Whether the platform uses a bucket that exists already. */
  readonly existing: boolean;
  readonly encryption: string;
  readonly keepDeletedDays: number;
  readonly onDestroy: BucketFate;
  /** Names of the deployments that write to the bucket, as far as the plan knows them. */
  readonly deployments: readonly string[];
}

export const BACKUP_BUCKET_DEFAULTS = { encryption: "AES256", keepDeletedDays: 3, onDestroy: "keep" } as const;
export const KEEP_DELETED_DAYS = { min: 1, max: 365 } as const;
const BUCKET = /^(?!xn--|sthree-|amzn-s3-demo-)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;
const KMS = /^aws:kms(?::(.+))?$/;
const KEY_ARN = /^arn:aws:kms:([a-z0-9-]+):\d{12}:key\/[\w-]+$/;

export function ownKeyOf(encryption: string): string | undefined {
  return KMS.exec(encryption)?.[1];
}

export function planBackupBucket(args: BackupBucketArgs, deployments: readonly string[]): BackupBucketPlan {
  const { bucketName, existingBucket, ...rest } = args;
  const { encryption, keepDeletedDays, onDestroy } = BACKUP_BUCKET_DEFAULTS;
  return {
    name: existingBucket ?? bucketName ?? null,
    existing: existingBucket !== undefined,
    encryption: rest.encryption ?? encryption,
    keepDeletedDays: rest.keepDeletedDays ?? keepDeletedDays,
    onDestroy: rest.onDestroy ?? onDestroy,
    deployments,
  };
}

export function backupBucketProblems(args: BackupBucketArgs | undefined, region: string): Problem[] {
  if (args === undefined) return [];
  const { bucketName, existingBucket, encryption = "AES256", keepDeletedDays, onDestroy } = args;
  const both = bucketName !== undefined && existingBucket !== undefined;
  const found = compact([
    both
      ? problem("two-buckets", "bucketName", "is set together with existingBucket; expected only one of the two")
      : undefined,
    nameProblem("bucketName", bucketName),
    nameProblem("existingBucket", existingBucket),
    encryptionProblem(encryption, region),
    isDays(keepDeletedDays)
      ? undefined
      : problem(
          "days-out-of-range",
          "keepDeletedDays",
          `it is ${keepDeletedDays}; expected a whole number from ${KEEP_DELETED_DAYS.min} to ${KEEP_DELETED_DAYS.max}`,
        ),
    onDestroy === undefined || BUCKET_FATES.includes(onDestroy)
      ? undefined
      : problem(
          "unknown-fate",
          "onDestroy",
          `it is ${JSON.stringify(onDestroy)}; expected ${BUCKET_FATES.join(" or ")}`,
        ),
    ...(existingBucket === undefined ? [] : settingProblems(args)),
  ]);
  return within("backups", found);
}

const isDays = (days: number | undefined): boolean =>
  days === undefined || (Number.isInteger(days) && days >= KEEP_DELETED_DAYS.min && days <= KEEP_DELETED_DAYS.max);

function nameProblem(field: string, name: string | undefined): Problem | undefined {
  if (name === undefined || BUCKET.test(name)) return undefined;
  const expected = "3 to 63 lower-case letters, digits and hyphens, a letter or a digit first and last";
  return problem("bucket-name", field, `it is ${JSON.stringify(name)}; expected ${expected}`);
}

/** A role's policy can name a key only by its ARN, so an ID or an alias is refused. */
function encryptionProblem(encryption: string, region: string): Problem | undefined {
  if (encryption === "AES256" || encryption === "aws:kms") return undefined;
  if (KEY_ARN.exec(ownKeyOf(encryption) ?? "")?.[1] === region) return undefined;
  const form = `arn:aws:kms:${region}:ACCOUNT:key/ID`;
  const expected = `AES256, aws:kms, or aws:kms: and the ARN of a key of the region (${form})`;
  return problem("bucket-encryption", "encryption", `it is ${JSON.stringify(encryption)}; expected ${expected}`);
}

function settingProblems(args: BackupBucketArgs): Problem[] {
  return (["keepDeletedDays", "onDestroy"] as const)
    .filter((field) => args[field] !== undefined)
    .map((field) =>
      problem(
        "setting-of-new-bucket",
        field,
        "cannot be set together with existingBucket, whose settings stay as they are",
      ),
    );
}
