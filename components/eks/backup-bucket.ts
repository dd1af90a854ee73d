import * as aws from "./aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { currentAccount } from "./aws/account";
import { tlsOnly } from "./backup-policies";
import { type BackupBucketPlan, ownKeyOf } from "../../platforms/eks/backup-bucket";

/** S3 then removes parts of incomplete uploads. A restarted archive does so itself. */
const UNFINISHED_DAYS = 7;
/** Longest prefix of a bucket's name to which AWS adds digits, characters. */
const LONGEST_PREFIX = 37;

interface NewBucketArgs extends Pick<BackupBucketPlan, "name" | "encryption" | "keepDeletedDays" | "onDestroy"> {
  /** If the bucket has no configured name, its name begins with the name of the cluster. */
  readonly clusterName: string;
}

/**
 * It has versions, because backups must survive stolen credentials and an administrator's mistake. With `onDestroy:
 * "keep"`, all resources stay: a bucket alone would lose the settings that keep it private.
 */
export class BackupBucket extends pulumi.ComponentResource {
  /** It is known when all settings of the bucket exist. */
  readonly bucket: pulumi.Output<string>;

  constructor(
    name: string,
    { clusterName, name: bucketName, encryption, keepDeletedDays, onDestroy }: NewBucketArgs,
    opts: pulumi.ComponentResourceOptions,
  ) {
    super("valkey:eks:BackupBucket", name, {}, opts);
    const child = { parent: this, retainOnDelete: onDestroy === "keep" };
    const made = new aws.s3.Bucket(
      `${name}-backups`,
      {
        ...(bucketName === null ? { bucketPrefix: generatedPrefix(clusterName) } : { bucket: bucketName }),
        forceDestroy: onDestroy === "delete",
      },
      child,
    );
    const { bucket } = made;
    const privacy = new aws.s3.BucketPublicAccessBlock(
      `${name}-backups`,
      { bucket, blockPublicAcls: true, blockPublicPolicy: true, ignorePublicAcls: true, restrictPublicBuckets: true },
      child,
    );
    const partition = currentAccount(this).apply((account) => account.partition);
    const policy = new aws.s3.BucketPolicy(
      `${name}-backups`,
      {
        bucket,
        policy: pulumi.jsonStringify(
          pulumi.all([partition, bucket]).apply(([where, known]) => tlsOnly(`arn:${where}:s3:::${known}`)),
        ),
      },
      // S3 refuses two changes of a bucket's access at the same time.
      { ...child, dependsOn: [privacy] },
    );
    const ownership = new aws.s3.BucketOwnershipControls(
      `${name}-backups`,
      { bucket, rule: { objectOwnership: "BucketOwnerEnforced" } },
      { ...child, dependsOn: [policy] },
    );
    const encrypted = new aws.s3.BucketServerSideEncryptionConfiguration(
      `${name}-backups`,
      { bucket, rules: [encryptionRule(encryption)] },
      child,
    );
    const versions = new aws.s3.BucketVersioning(
      `${name}-backups`,
      { bucket, versioningConfiguration: { status: "Enabled" } },
      child,
    );
    const lifecycle = new aws.s3.BucketLifecycleConfiguration(
      `${name}-backups`,
      { bucket, rules: lifecycleRules(keepDeletedDays) },
      { ...child, dependsOn: [versions] },
    );
    const settings = [ownership, encrypted, lifecycle].map(({ id }) => id);
    this.bucket = pulumi.all([bucket, pulumi.all(settings)]).apply(([known]) => known);
    this.registerOutputs({ bucket: this.bucket });
  }
}

function generatedPrefix(clusterName: string): string {
  const end = "-backups-";
  return clusterName.slice(0, LONGEST_PREFIX - end.length) + end;
}

function encryptionRule(
  encryption: string,
): aws.s3.BucketServerSideEncryptionConfigurationArgs["rules"] extends pulumi.Input<(infer Rule)[]> ? Rule : never {
  if (encryption === "AES256") return { applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } };
  const key = ownKeyOf(encryption);
  return {
    applyServerSideEncryptionByDefault: {
      sseAlgorithm: "aws:kms",
      ...(key === undefined ? {} : { kmsMasterKeyId: key }),
    },
    // S3 then asks KMS for a key of the bucket, not for a key of each object.
    bucketKeyEnabled: true,
  };
}

function lifecycleRules(keepDeletedDays: number): aws.s3.BucketLifecycleConfigurationArgs["rules"] {
  return [
    {
      id: "unfinished-uploads",
      status: "Enabled",
      filter: {},
      abortIncompleteMultipartUpload: { daysAfterInitiation: UNFINISHED_DAYS },
    },
    {
      id: "deleted-objects",
      status: "Enabled",
      filter: {},
      noncurrentVersionExpiration: { noncurrentDays: keepDeletedDays },
      expiration: { expiredObjectDeleteMarker: true },
    },
  ];
}
