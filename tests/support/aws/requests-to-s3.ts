/** Requests that the test server for S3 has received, as IAM sees them. */
import { BUCKET } from "../valkey/s3-server";
import type { PolicyRequest } from "./policy-simulation";

const BUCKET_ARN = `arn:aws:s3:::${BUCKET}`;

/**
 * The action and the resource by which IAM decides on a request ("Required permissions for S3 API operations").
 * @param line `METHOD TARGET`, as `S3Server` records it
 */
export function requestToS3(line: string): PolicyRequest {
  const [method = "", target = ""] = line.split(" ");
  const { pathname, searchParams } = new URL(target, "http://localhost");
  const key = decodeURIComponent(pathname).replace(`/${BUCKET}`, "").replace(/^\//, "");
  const object = `${BUCKET_ARN}/${key}`;
  if (key === "") {
    if (searchParams.has("uploads")) return { action: "s3:ListBucketMultipartUploads", resource: BUCKET_ARN };
    const context = { "s3:prefix": searchParams.get("prefix") ?? "" };
    return { action: "s3:ListBucket", resource: BUCKET_ARN, context };
  }
  if (method === "DELETE")
    return { action: searchParams.has("uploadId") ? "s3:AbortMultipartUpload" : "s3:DeleteObject", resource: object };
  return { action: method === "GET" || method === "HEAD" ? "s3:GetObject" : "s3:PutObject", resource: object };
}
