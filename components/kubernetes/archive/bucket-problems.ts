/** Problems of the arguments that describe a bucket. Pure. */
import { compact } from "../../../lib/compact";
import type { BucketArgs } from "../backup-arguments";

/** Problem of one argument, with the path of the argument below `backup` or `restoreFrom`. */
export interface ArgumentProblem {
  readonly field: string;
  readonly reason: string;
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[\w!*'()+=@,-][\w!.*'()+=@,-]*(\/[\w!*'()+=@,-][\w!.*'()+=@,-]*)*$/;
const MOST_PREFIX_CHARACTERS = 400;
const ROLE = /^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/;
const REGION = /^[a-z0-9-]{1,64}$/;

/**
 * Problems of the arguments that describe a bucket. Arguments that other resources compute are not known yet. The pod
 * checks them when it starts.
 */
export function bucketProblems(args: BucketArgs): ArgumentProblem[] {
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

const isKnown = (value: unknown): value is string => typeof value === "string";

/** Problem of a text that does not match its pattern. A value that another resource computes is not checked. */
export function textProblem(
  field: string,
  value: unknown,
  pattern: RegExp,
  expected: string,
): ArgumentProblem | undefined {
  if (!isKnown(value) || pattern.test(value)) return undefined;
  return { field, reason: `it is ${JSON.stringify(value)}; expected ${expected}` };
}

function prefixProblem(prefix: BucketArgs["prefix"]): ArgumentProblem | undefined {
  if (!isKnown(prefix) || (PREFIX.test(prefix) && prefix.length <= MOST_PREFIX_CHARACTERS)) return undefined;
  const expected =
    `names of letters, digits and !-_.*'()+=@ with / between them, not at the beginning or the end, at most ` +
    `${MOST_PREFIX_CHARACTERS} characters`;
  return { field: "prefix", reason: `it is ${JSON.stringify(prefix)}; expected ${expected}` };
}

function regionProblem({ region, endpoint, role }: BucketArgs): ArgumentProblem | undefined {
  if (region !== undefined || endpoint !== undefined || role !== undefined) return undefined;
  return { field: "region", reason: "it is missing; only a pod with role or endpoint finds it by itself" };
}

function endpointProblem({ endpoint }: BucketArgs): ArgumentProblem | undefined {
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

function credentialProblems({ credentials, role }: BucketArgs): ArgumentProblem[] {
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
