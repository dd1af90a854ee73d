/** Problems of the arguments that describe a bucket. Pure. */
import type { Problem } from "../../../lib/errors";
import { problem } from "../../../lib/errors";
import { compact } from "../../../lib/compact";
import type { BucketArgs } from "../backup-arguments";

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[\w!*'()+=@,-][\w!.*'()+=@,-]*(\/[\w!*'()+=@,-][\w!.*'()+=@,-]*)*$/;
const MOST_PREFIX_CHARACTERS = 400;
const ROLE = /^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/;
const REGION = /^[a-z0-9-]{1,64}$/;

/**
 * Problems of the arguments that describe a bucket. Arguments that other resources compute are not known yet. The pod
 * checks them when it starts.
 */
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

const isKnown = (value: unknown): value is string => typeof value === "string";

/** Problem of a text that does not match its pattern. A value that another resource computes is not checked. */
export function textProblem(field: string, value: unknown, pattern: RegExp, expected: string): Problem | undefined {
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
