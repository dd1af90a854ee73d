/** Policies of the bucket for backups and of the roles that use it. Pure. */
import type { PolicyDocument } from "./karpenter/karpenter-policies";

/** Objects in a bucket that one deployment may use. */
export interface BackupPlace {
  readonly partition: string;
  readonly region: string;
  readonly bucket: string;
  /** Beginning of the names of the deployment's objects, without a slash at the end. */
  readonly prefix: string;
  /** ARN of the user's own KMS key; undefined if the bucket does not use one. */
  readonly keyArn: string | undefined;
}

const VERSION = "2012-10-17";

/**
 * Rights of a deployment on its objects: those of its archive, and those of a restore, which reads only. Other
 * deployments have different prefixes, so no deployment reads or writes the backups of a different one.
 */
export function backupRights({ partition, region, bucket, prefix, keyArn }: BackupPlace): PolicyDocument {
  const bucketArn = `arn:${partition}:s3:::${bucket}`;
  const own = escaped(prefix);
  return {
    Version: VERSION,
    Statement: [
      {
        Sid: "AllowListingOwnObjects",
        Effect: "Allow",
        Action: "s3:ListBucket",
        Resource: bucketArn,
        Condition: { StringLike: { "s3:prefix": `${own}/*` } },
      },
      {
        // S3 has no condition on the prefix for this action. It shows names of unfinished uploads, and no data.
        Sid: "AllowListingUploads",
        Effect: "Allow",
        Action: "s3:ListBucketMultipartUploads",
        Resource: bucketArn,
      },
      {
        Sid: "AllowOwnObjects",
        Effect: "Allow",
        Action: ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
        Resource: `${bucketArn}/${own}/*`,
      },
      ...(keyArn === undefined
        ? []
        : [
            {
              Sid: "AllowKeyOfTheBucket",
              Effect: "Allow" as const,
              Action: ["kms:GenerateDataKey", "kms:Decrypt"],
              Resource: keyArn,
              Condition: { StringEquals: { "kms:ViaService": `s3.${region}.amazonaws.com` } },
            },
          ]),
    ],
  };
}

/** Policy of the bucket: it refuses connections without TLS. */
export function tlsOnly(bucketArn: string): PolicyDocument {
  return {
    Version: VERSION,
    Statement: [
      {
        Sid: "DenyPlainHttp",
        Effect: "Deny",
        Principal: "*",
        Action: "s3:*",
        Resource: [bucketArn, `${bucketArn}/*`],
        Condition: { Bool: { "aws:SecureTransport": "false" } },
      },
    ],
  };
}

/** Text in which IAM reads `*`, `?` and `$` as these characters, not as wildcards or variables. */
function escaped(text: string): string {
  return text.replace(/[*?$]/g, (character) => `\${${character}}`);
}
