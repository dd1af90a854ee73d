import { type Problem, problem } from "../../../lib/errors";

export type Encryption =
  /** Encryption that the bucket uses by default. */
  | { readonly kind: "none" }
  | { readonly kind: "AES256" }
  /** Encryption with a KMS key. `key` is its ID, ARN or alias; undefined for the default key of the account. */
  | { readonly kind: "aws:kms"; readonly key: string | undefined };

export interface BucketLocation {
  readonly bucket: string;
  /** Without `/` at start and end; empty if the archive uses the whole bucket. */
  readonly prefix: string;
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  readonly encryption: Encryption;
  /** Whether request URLs contain the name of the bucket in the path instead of the host name. */
  readonly pathStyle: boolean;
}

const BUCKET_OPTIONS = ["endpoint", "region", "encryption", "pathStyle"] as const;
export type BucketOption = (typeof BUCKET_OPTIONS)[number];
export const FLAGS: Readonly<Record<BucketOption, string>> = {
  endpoint: "--endpoint",
  region: "--region",
  encryption: "--encryption",
  pathStyle: "--path-style",
};

const SCHEME = "s3://";
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** A key has at most 1,024 bytes, and the names of an archive's files need the rest. */
const MOST_PREFIX_BYTES = 500;

export const isBucket = (location: string): boolean => location.startsWith(SCHEME);

export function parseBucket(
  location: string,
  { endpoint, region, encryption, pathStyle }: Readonly<Record<string, unknown>>,
  problems: Problem[],
  names: Readonly<Record<BucketOption, string>> = FLAGS,
): BucketLocation {
  const [bucket = "", ...rest] = location.slice(SCHEME.length).split("/");
  const prefix = rest.join("/").replace(/\/$/, "");
  if (!BUCKET.test(bucket))
    problems.push(
      problem(
        "bucket-name",
        shown(location),
        `${shown(bucket)} is not the name of a bucket; expected s3://BUCKET/PREFIX`,
      ),
    );
  const isClean = prefix === "" || prefix.split("/").every((part) => /^[\w!*'() +=@,-][\w!.*'() +=@,-]*$/.test(part));
  if (!isClean || Buffer.byteLength(prefix) > MOST_PREFIX_BYTES)
    problems.push(
      problem(
        "wrong-prefix",
        shown(location),
        `the prefix must be names of letters, digits and !-_.*'()+=@, with / between them, at most ${MOST_PREFIX_BYTES} bytes`,
      ),
    );
  const url = typeof endpoint === "string" ? parseEndpoint(endpoint, names.endpoint, problems) : undefined;
  return {
    bucket,
    prefix,
    endpoint: url,
    region: typeof region === "string" ? region : undefined,
    encryption: parseEncryption(encryption, names.encryption, problems),
    pathStyle: pathStyle === true || url !== undefined,
  };
}

/** Without parts that may have credentials, as in `USER:SECRET@HOST` or `?signature=`. */
const shown = (text: string): string => (/[@?]/.test(text) ? "a text with @ or ?" : JSON.stringify(text));

export function refuseBucketOptions(
  values: Readonly<Record<string, unknown>>,
  problems: Problem[],
  names: Readonly<Record<BucketOption, string>>,
): void {
  for (const name of BUCKET_OPTIONS)
    if (values[name] !== undefined)
      problems.push(problem("needs-bucket", names[name], ` applies to a bucket only (${SCHEME}BUCKET/PREFIX)`));
}

function parseEndpoint(text: string, name: string, problems: Problem[]): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.search !== "" || url.hash !== "") {
    problems.push(problem("wrong-endpoint", name, ` is ${shown(text)}: expected a URL such as https://s3.example.com`));
    return undefined;
  }
  if (url.username !== "" || url.password !== "") {
    problems.push(
      problem("endpoint-with-user", name, " has a user or a password: credentials come from the environment only"),
    );
    return undefined;
  }
  return url.href;
}

function parseEncryption(value: unknown, name: string, problems: Problem[]): Encryption {
  const text = typeof value === "string" ? value : "none";
  const [, key] = /^aws:kms(?::(.+))?$/.exec(text) ?? [];
  if (text.startsWith("aws:kms") && (key !== undefined || text === "aws:kms")) return { kind: "aws:kms", key };
  if (text === "AES256") return { kind: "AES256" };
  if (text !== "none")
    problems.push(
      problem("wrong-value", name, ` is ${JSON.stringify(text)}: expected none, AES256, aws:kms or aws:kms:KEY`),
    );
  return { kind: "none" };
}

export const bucketLabel = ({ bucket, prefix }: BucketLocation): string =>
  `${SCHEME}${bucket}${prefix === "" ? "" : `/${prefix}`}`;
