import { Failure, messageOf } from "../../../lib/errors";

/** Thrown when the server or the S3 client refuses a request, and would refuse it again. */
export class BucketRefused extends Failure {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BucketRefused";
  }
}

const NO_CREDENTIALS = "CredentialsProviderError";
const HINTS: Readonly<Record<string, string>> = {
  NoSuchBucket: "the bucket does not exist; create it first",
  AccessDenied:
    "access is denied; a restore needs s3:ListBucket and s3:GetObject, and with aws:kms kms:Decrypt; an archive also " +
    "needs s3:ListBucketMultipartUploads, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload, and with aws:kms " +
    "kms:GenerateDataKey",
  InvalidAccessKeyId: "the server does not know the access key",
  SignatureDoesNotMatch: "the secret key is wrong",
  ExpiredToken: "the credentials have expired; start the command again with new ones",
  ExpiredTokenException: "the credentials have expired; start the command again with new ones",
  TokenRefreshRequired: "the credentials have expired; start the command again with new ones",
  InvalidToken: "the session token is not valid",
  [NO_CREDENTIALS]:
    "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role",
  PermanentRedirect: "the bucket is in a different region; name it with --region",
  AuthorizationHeaderMalformed: "the region is not the bucket's; name it with --region",
  IllegalLocationConstraintException: "the bucket is in a different region; name it with --region",
  QuotaExceeded: "the bucket is full",
  XMinioStorageFull: "the storage of the server is full",
};

/** Codes of errors that may pass when the request is repeated, although their HTTP status blames the request. */
const PASSING = new Set([
  "RequestTimeout",
  "RequestTimeTooSkewed",
  "OperationAborted",
  "SlowDown",
  "Throttling",
  "ThrottlingException",
  "ThrottledException",
  "RequestThrottled",
  "RequestThrottledException",
  "RequestLimitExceeded",
  "TooManyRequestsException",
]);
const PASSING_STATUS = new Set([408, 409, 429]);

interface ServiceError {
  readonly name: string;
  readonly message: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

export const statusOf = (error: unknown): number | undefined =>
  error instanceof Error ? (error as unknown as ServiceError).$metadata?.httpStatusCode : undefined;

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : "");

export const isMissing = (error: unknown): boolean => ["NoSuchKey", "NotFound", "NoSuchUpload"].includes(nameOf(error));

/** Undefined if the request should be repeated. After a success, a source of credentials is away for a time only. */
export function refusalOf(error: unknown, hadCredentials: boolean): string | undefined {
  const name = nameOf(error);
  const hint = HINTS[name];
  const text = messageOf(error).trim();
  if (hadCredentials && (name === NO_CREDENTIALS || /could not load credentials/i.test(text))) return undefined;
  if (hint !== undefined) return `${hint} (${name})`;
  if (/region is missing/i.test(text)) return "the region is not known; name it with --region";
  if (/could not load credentials/i.test(text)) return HINTS[NO_CREDENTIALS];
  const status = statusOf(error);
  if (status === 301) return HINTS["PermanentRedirect"];
  if (status === undefined || status < 400 || status >= 500 || PASSING_STATUS.has(status) || PASSING.has(name))
    return status === 501 ? `the server lacks an operation (${name}: ${text})` : undefined;
  if (status === 403) return `${HINTS["AccessDenied"] ?? ""} (${text})`;
  return `the server refuses the request (${name}, status ${status}: ${text})`;
}
