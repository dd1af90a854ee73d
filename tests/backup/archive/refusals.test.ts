/** Errors of S3 servers: which end a command, and which pass. */
import { expect, it } from "vitest";
import { refusalOf } from "../../../backup/archive/bucket/refusals";

function errorOf(name: string, status?: number, message = "no"): Error {
  const error = Object.assign(new Error(message), { $metadata: { httpStatusCode: status } });
  error.name = name;
  return error;
}

it.each([
  ["SlowDown", 503],
  ["Throttling", 400],
  ["ThrottlingException", 400],
  ["RequestThrottled", 400],
  ["RequestThrottled", 403],
  ["RequestLimitExceeded", 400],
  ["InternalError", 500],
  ["TooManyRequests", 429],
] as const)("repeats a request after %s with status %d", (name, status) => {
  expect(refusalOf(errorOf(name, status), false)).toBeUndefined();
});

it.each([
  ["AccessDenied", 403, /a restore needs s3:ListBucket and s3:GetObject, .*an archive also needs .*s3:PutObject/],
  ["NoSuchBucket", 404, /create it first/],
  ["InvalidArgument", 400, /refuses the request \(InvalidArgument, status 400: no\)/],
  ["ExpiredToken", 400, /have expired/],
] as const)("ends after %s with status %d", (name, status, text) => {
  for (const hadCredentials of [false, true]) expect(refusalOf(errorOf(name, status), hadCredentials)).toMatch(text);
});

it("ends without credentials only if no request has succeeded before", () => {
  const missing = errorOf("CredentialsProviderError", undefined, "Could not load credentials from any providers");
  const unnamed = errorOf("Error", undefined, "Could not load credentials from any providers");
  for (const error of [missing, unnamed]) {
    expect(refusalOf(error, false)).toMatch(/there are no credentials; set AWS_ACCESS_KEY_ID/);
    expect(refusalOf(error, true)).toBeUndefined();
  }
});
