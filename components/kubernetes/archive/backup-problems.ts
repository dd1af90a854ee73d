/** Problems of the arguments of a backup. Pure. */
import { BASE_SECONDS, KEEP_SECONDS } from "../../../archiver/pod-settings";
import { compact } from "../../../lib/compact";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import type { BackupArgs } from "../backup-arguments";

/** Problem of one argument of a backup, with the path of the argument below `backup`. */
export interface BackupProblem {
  readonly field: string;
  readonly reason: string;
}

/** Smallest allowed disk space for data that the bucket has not taken yet (the spool), bytes. */
const SMALLEST_SPOOL = 256 * 1024 ** 2;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[\w!*'()+=@,-][\w!.*'()+=@,-]*(\/[\w!*'()+=@,-][\w!.*'()+=@,-]*)*$/;
const MOST_PREFIX_CHARACTERS = 400;
const ROLE = /^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/;
const REGION = /^[a-z0-9-]{1,64}$/;
const ENCRYPTION = /^(none|AES256|aws:kms(:.+)?)$/;

/**
 * Problems of a backup's arguments. Arguments that other resources compute are not known yet. The pod checks them when
 * it starts.
 */
export function backupProblems(args: BackupArgs): BackupProblem[] {
  const { bucket, prefix, region, role, encryption, baseEverySeconds, keepSeconds } = args;
  return compact([
    textProblem("bucket", bucket, BUCKET, "the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens"),
    prefixProblem(prefix),
    endpointProblem(args),
    regionProblem(args),
    textProblem("region", region, REGION, "the name of a region such as eu-central-1"),
    textProblem("role", role, ROLE, "the ARN of a role such as arn:aws:iam::123456789012:role/backup"),
    textProblem("encryption", encryption, ENCRYPTION, "none, AES256, aws:kms or aws:kms:KEY"),
    rangeProblem("baseEverySeconds", baseEverySeconds, BASE_SECONDS),
    rangeProblem("keepSeconds", keepSeconds, KEEP_SECONDS),
    orderProblem(args),
    spoolProblem(args),
    ...credentialProblems(args),
  ]);
}

const isKnown = (value: unknown): value is string => typeof value === "string";

function textProblem(field: string, value: unknown, pattern: RegExp, expected: string): BackupProblem | undefined {
  if (!isKnown(value) || pattern.test(value)) return undefined;
  return { field, reason: `it is ${JSON.stringify(value)}; expected ${expected}` };
}

function prefixProblem(prefix: BackupArgs["prefix"]): BackupProblem | undefined {
  if (!isKnown(prefix) || (PREFIX.test(prefix) && prefix.length <= MOST_PREFIX_CHARACTERS)) return undefined;
  const expected =
    `names of letters, digits and !-_.*'()+=@ with / between them, not at the beginning or the end, at most ` +
    `${MOST_PREFIX_CHARACTERS} characters`;
  return { field: "prefix", reason: `it is ${JSON.stringify(prefix)}; expected ${expected}` };
}

function regionProblem({ region, endpoint, role }: BackupArgs): BackupProblem | undefined {
  if (region !== undefined || endpoint !== undefined || role !== undefined) return undefined;
  return { field: "region", reason: "it is missing; only a pod with role or endpoint finds it by itself" };
}

function endpointProblem({ endpoint }: BackupArgs): BackupProblem | undefined {
  if (endpoint === undefined) return undefined;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url !== undefined && (url.username !== "" || url.password !== ""))
    return { field: "endpoint", reason: "it has a user or a password; use credentials" };
  if (url !== undefined && ["http:", "https:"].includes(url.protocol) && url.search === "" && url.hash === "")
    return undefined;
  return {
    field: "endpoint",
    reason: `it is ${JSON.stringify(endpoint)}; expected a URL such as https://s3.example.com`,
  };
}

function rangeProblem(
  field: string,
  value: number | undefined,
  { min, max }: { readonly min: number; readonly max: number },
): BackupProblem | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return undefined;
  return { field, reason: `it is ${value}; expected a whole number from ${min} to ${max} seconds` };
}

/**
 * Problem if `keepSeconds` is shorter than `baseEverySeconds`. The archive deletes a base only together with the
 * commands that follow until the next base. So it would keep data for longer than `keepSeconds`.
 */
function orderProblem({ baseEverySeconds, keepSeconds }: BackupArgs): BackupProblem | undefined {
  const base = baseEverySeconds ?? BASE_SECONDS.default;
  const keep = keepSeconds ?? KEEP_SECONDS.default;
  if (keep >= base) return undefined;
  return { field: "keepSeconds", reason: `it is ${keep}; expected at least baseEverySeconds, which is ${base}` };
}

function spoolProblem({ spoolSize }: BackupArgs): BackupProblem | undefined {
  if (spoolSize === undefined || parseQuantity(spoolSize) >= SMALLEST_SPOOL) return undefined;
  return {
    field: "spoolSize",
    reason: `it is ${JSON.stringify(spoolSize)}; expected a quantity of at least 256Mi, such as 4Gi`,
  };
}

function credentialProblems({ credentials, role }: BackupArgs): BackupProblem[] {
  if (credentials === undefined) return [];
  const { secretName, accessKeyId, secretAccessKey } = credentials;
  const keys = [accessKeyId, secretAccessKey].filter((each) => each !== undefined).length;
  const field = "credentials";
  return compact([
    role === undefined ? undefined : { field, reason: "cannot be set together with role" },
    secretName !== undefined && keys > 0
      ? { field, reason: "expected either secretName or both keys, not all of them" }
      : undefined,
    secretName === undefined && keys < 2
      ? { field, reason: "expected secretName, or accessKeyId and secretAccessKey" }
      : undefined,
  ]);
}
