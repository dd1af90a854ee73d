/** Inputs of buckets of S3. */
import type { Mapping, Rule } from "./mapping";

/** The bucket of a setting. */
const bucket = (call: string): Rule => `s3.${call}.Bucket`;

export const S3_INPUTS: Readonly<Record<string, Mapping>> = {
  "aws:s3/bucket:Bucket": {
    inputs: {
      bucket: "s3.CreateBucket.Bucket",
      // The provider adds 26 digits.
      bucketPrefix: { to: "s3.CreateBucket.Bucket", as: (prefix) => `${String(prefix)}20260101000000000000000001` },
      forceDestroy: { provider: "whether a bucket with objects is deleted" },
    },
  },
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": {
    inputs: {
      bucket: bucket("PutPublicAccessBlock"),
      blockPublicAcls: "s3.PutPublicAccessBlock.PublicAccessBlockConfiguration.BlockPublicAcls",
      blockPublicPolicy: "s3.PutPublicAccessBlock.PublicAccessBlockConfiguration.BlockPublicPolicy",
      ignorePublicAcls: "s3.PutPublicAccessBlock.PublicAccessBlockConfiguration.IgnorePublicAcls",
      restrictPublicBuckets: "s3.PutPublicAccessBlock.PublicAccessBlockConfiguration.RestrictPublicBuckets",
    },
  },
  "aws:s3/bucketPolicy:BucketPolicy": {
    inputs: { bucket: bucket("PutBucketPolicy"), policy: "s3.PutBucketPolicy.Policy" },
  },
  "aws:s3/bucketOwnershipControls:BucketOwnershipControls": {
    inputs: {
      bucket: bucket("PutBucketOwnershipControls"),
      rule: {
        to: "s3.PutBucketOwnershipControls.OwnershipControls.Rules.0",
        fields: { objectOwnership: { to: "ObjectOwnership" } },
      },
    },
  },
  "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": {
    inputs: {
      bucket: bucket("PutBucketEncryption"),
      rules: {
        to: "s3.PutBucketEncryption.ServerSideEncryptionConfiguration.Rules",
        fields: {
          applyServerSideEncryptionByDefault: {
            to: "ApplyServerSideEncryptionByDefault",
            fields: { sseAlgorithm: { to: "SSEAlgorithm" }, kmsMasterKeyId: { to: "KMSMasterKeyID" } },
          },
          bucketKeyEnabled: { to: "BucketKeyEnabled" },
        },
      },
    },
  },
  "aws:s3/bucketVersioning:BucketVersioning": {
    inputs: {
      bucket: bucket("PutBucketVersioning"),
      versioningConfiguration: {
        to: "s3.PutBucketVersioning.VersioningConfiguration",
        fields: { status: { to: "Status" } },
      },
    },
  },
  "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": {
    inputs: {
      bucket: bucket("PutBucketLifecycleConfiguration"),
      rules: {
        to: "s3.PutBucketLifecycleConfiguration.LifecycleConfiguration.Rules",
        fields: {
          id: { to: "ID" },
          status: { to: "Status" },
          filter: { to: "Filter", fields: {} },
          abortIncompleteMultipartUpload: {
            to: "AbortIncompleteMultipartUpload",
            fields: { daysAfterInitiation: { to: "DaysAfterInitiation" } },
          },
          noncurrentVersionExpiration: {
            to: "NoncurrentVersionExpiration",
            fields: { noncurrentDays: { to: "NoncurrentDays" } },
          },
          expiration: {
            to: "Expiration",
            fields: { expiredObjectDeleteMarker: { to: "ExpiredObjectDeleteMarker" } },
          },
        },
      },
    },
  },
};
