import type { PolicyDocument } from "./karpenter/karpenter-policies";

interface BucketPart {
  readonly partition: string;
  readonly bucket: string;
  /** Beginning of the names of the objects, without a slash at the end. Empty: the whole bucket. */
  readonly prefix: string;
}

interface BackupPlace extends BucketPart {
  readonly region: string;
  /** ARN of the user's own KMS key; undefined if the bucket does not use one. */
  readonly keyArn: string | undefined;
}

const VERSION = "2012-10-17";

/** Prefixes differ, so no archive reads or writes the backups of a different deployment. */
export function backupRights({ region, keyArn, ...part }: BackupPlace): PolicyDocument {
  const { bucketArn, objectsArn } = arnsOf(part);
  return {
    Version: VERSION,
    Statement: [
      listing(part),
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
        Resource: objectsArn,
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

/** Reads objects, writes only its holds. KMS decrypts only what encrypts them, so the policy need not name the key. */
export function restoreRights(part: BucketPart): PolicyDocument {
  const { bucketArn, objectsArn } = arnsOf(part);
  return {
    Version: VERSION,
    Statement: [
      listing(part),
      { Sid: "AllowReadingObjects", Effect: "Allow", Action: "s3:GetObject", Resource: objectsArn },
      {
        // A restore says which sets it reads, so that the archive does not delete them meanwhile.
        Sid: "AllowHoldingSets",
        Effect: "Allow",
        Action: ["s3:PutObject", "s3:DeleteObject"],
        Resource: objectsArn.replace(/\*$/, "holds/*"),
      },
      {
        Sid: "AllowKeyOfTheObjects",
        Effect: "Allow",
        Action: "kms:Decrypt",
        Resource: "*",
        Condition: {
          StringLike: {
            "kms:ViaService": "s3.*.amazonaws.com",
            // S3 names the bucket if the bucket has a key of its own, and otherwise the object.
            "kms:EncryptionContext:aws:s3:arn": [bucketArn, objectsArn],
          },
        },
      },
    ],
  };
}

function listing(part: BucketPart): PolicyDocument["Statement"][number] {
  return {
    Sid: "AllowListingObjects",
    Effect: "Allow",
    Action: "s3:ListBucket",
    Resource: arnsOf(part).bucketArn,
    Condition: { StringLike: { "s3:prefix": `${beginning(part.prefix)}*` } },
  };
}

function arnsOf({ partition, bucket, prefix }: BucketPart): {
  readonly bucketArn: string;
  readonly objectsArn: string;
} {
  const bucketArn = `arn:${partition}:s3:::${bucket}`;
  return { bucketArn, objectsArn: `${bucketArn}/${beginning(prefix)}*` };
}

const beginning = (prefix: string): string => (prefix === "" ? "" : `${escaped(prefix)}/`);

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
