import { type Problem, problem } from "../../../lib/errors";
import { compact } from "../../../lib/compact";
import { BACKUP_DEFAULTS, BACKUP_FIELDS } from "../../../model/backup";
import { fieldProblems } from "../../../model/fields";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import type { BackupArgs, BucketArgs } from "../backup-arguments";

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[\w!*'()+=@,-][\w!.*'()+=@,-]*(\/[\w!*'()+=@,-][\w!.*'()+=@,-]*)*$/;
const MOST_PREFIX_CHARACTERS = 400;
const ROLE = /^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/;
const REGION = /^[a-z0-9-]{1,64}$/;

const isKnown = (value: unknown): value is string => typeof value === "string";

/** Smallest allowed disk space for data that the bucket has not taken yet (the spool). */
const SMALLEST_SPOOL = "256Mi";
const ENCRYPTION = /^(none|AES256|aws:kms(:.+)?)$/;

/** Arguments that other resources compute are not known yet. The pod checks them when it starts. */
export function backupProblems(args: BackupArgs): Problem[] {
  const { encryption } = args;
  return withFieldProblems(fieldProblems(BACKUP_FIELDS, args), [
    ...bucketProblems(args),
    textProblem("encryption", encryption, ENCRYPTION, "none, AES256, aws:kms or aws:kms:KEY"),
    orderProblem(args),
    sizeProblem("spoolSize", args.spoolSize, SMALLEST_SPOOL),
    drillMemoryProblem(args),
  ]);
}

/** A field whose value is wrong in itself is not checked further. */
export function withFieldProblems(found: readonly Problem[], others: readonly (Problem | undefined)[]): Problem[] {
  const paths = new Set(found.map(({ path }) => path));
  return [...found, ...compact(others).filter(({ path }) => !paths.has(path))];
}

/** A base is deleted only with the commands that follow until the next base, so data would be kept for longer. */
function orderProblem({ baseEverySeconds, keepSeconds }: BackupArgs): Problem | undefined {
  const base = baseEverySeconds ?? BACKUP_DEFAULTS.baseEverySeconds;
  const keep = keepSeconds ?? BACKUP_DEFAULTS.keepSeconds;
  if (keep >= base) return undefined;
  const message = `it is ${keep}; expected at least baseEverySeconds, which is ${base}`;
  return problem("kept-too-short", "keepSeconds", message);
}

/** Problem of a size that is below a limit, or not a quantity. @param least smallest size, as a quantity */
export function sizeProblem(field: string, size: string | undefined, least = "64Mi"): Problem | undefined {
  if (size === undefined || parseQuantity(size) >= parseQuantity(least)) return undefined;
  const message = `it is ${JSON.stringify(size)}; expected a quantity of at least ${least}, such as 4Gi`;
  return problem("too-small", field, message);
}

function drillMemoryProblem({ drill, drillMemory }: BackupArgs): Problem | undefined {
  if (drillMemory === undefined) return undefined;
  if (drill === undefined) return problem("needs-drill", "drillMemory", "needs drill, the interval of drills");
  return sizeProblem("drillMemory", drillMemory);
}

/** Arguments that other resources compute are not known yet. The pod checks them when it starts. */
export function bucketProblems(args: BucketArgs): Problem[] {
  const { bucket, prefix, region, role } = args;
  return compact([
    textProblem("bucket", bucket, BUCKET, "the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens"),
    prefixProblem(prefix),
    endpointProblem(args),
    regionProblem(args),
    textProblem("region", region, REGION, "the name of a region such as eu-central-1"),
    textProblem("role", role, ROLE, "the ARN of a role such as arn:aws:iam::123456789012:role/backup"),
    ...credentialProblems(args),
  ]);
}

/** A value that another resource computes is not checked. */
function textProblem(field: string, value: unknown, pattern: RegExp, expected: string): Problem | undefined {
  if (!isKnown(value) || pattern.test(value)) return undefined;
  return problem("wrong-text", field, `it is ${JSON.stringify(value)}; expected ${expected}`);
}

function prefixProblem(prefix: BucketArgs["prefix"]): Problem | undefined {
  if (!isKnown(prefix) || (PREFIX.test(prefix) && prefix.length <= MOST_PREFIX_CHARACTERS)) return undefined;
  const expected =
    `names of letters, digits and !-_.*'()+=@ with / between them, not at the beginning or the end, at most ` +
    `${MOST_PREFIX_CHARACTERS} characters`;
  return problem("wrong-prefix", "prefix", `it is ${JSON.stringify(prefix)}; expected ${expected}`);
}

function regionProblem({ region, endpoint, role }: BucketArgs): Problem | undefined {
  if (region !== undefined || endpoint !== undefined || role !== undefined) return undefined;
  return problem("no-region", "region", "it is missing; only a pod with role or endpoint finds it by itself");
}

function endpointProblem({ endpoint }: BucketArgs): Problem | undefined {
  if (endpoint === undefined) return undefined;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url !== undefined && (url.username !== "" || url.password !== ""))
    return problem("endpoint-with-user", "endpoint", "it has a user or a password; use credentials");
  if (url !== undefined && ["http:", "https:"].includes(url.protocol) && url.search === "" && url.hash === "")
    return undefined;
  const message = `it is ${JSON.stringify(endpoint)}; expected a URL such as https://s3.example.com`;
  return problem("wrong-endpoint", "endpoint", message);
}

function credentialProblems({ credentials, role }: BucketArgs): Problem[] {
  if (credentials === undefined) return [];
  const { secretName, accessKeyId, secretAccessKey } = credentials;
  const keys = [accessKeyId, secretAccessKey].filter((each) => each !== undefined).length;
  const field = "credentials";
  return compact([
    role === undefined ? undefined : problem("excluded-by-role", field, "cannot be set together with role"),
    secretName !== undefined && keys > 0
      ? problem("two-credentials", field, "expected either secretName or both keys, not all of them")
      : undefined,
    secretName === undefined && keys < 2
      ? problem("no-credentials", field, "expected secretName, or accessKeyId and secretAccessKey")
      : undefined,
  ]);
}
