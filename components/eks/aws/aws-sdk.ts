/**
 * The parts of AWS's Pulumi SDKs that a stack uses, under their names in the SDKs. The index files of the SDKs load
 * every service of AWS, which makes a preview one second slower.
 */
export * as cloudwatch from "@pulumi/aws/cloudwatch";
export * as ec2 from "@pulumi/aws/ec2";
export { PullThroughCacheRule } from "@pulumi/aws/ecr/pullThroughCacheRule";
export { Repository as EcrRepository } from "@pulumi/aws/ecr/repository";
export * as eks from "@pulumi/aws/eks";
export { getAvailabilityZones } from "@pulumi/aws/getAvailabilityZones";
export { getCallerIdentity, getCallerIdentityOutput } from "@pulumi/aws/getCallerIdentity";
export { getPartitionOutput } from "@pulumi/aws/getPartition";
export { getRegionOutput } from "@pulumi/aws/getRegion";
export * as iam from "@pulumi/aws/iam";
export * as kms from "@pulumi/aws/kms";
export { Provider } from "@pulumi/aws/provider";
export * as s3 from "@pulumi/aws/s3";
export { getSecret, getSecretOutput } from "@pulumi/aws/secretsmanager/getSecret";
export * as servicequotas from "@pulumi/aws/servicequotas";
export * as sqs from "@pulumi/aws/sqs";
export * as awsx from "@pulumi/awsx/ec2";
export { Cluster as EksControlPlane } from "@pulumi/eks/cluster";
export { AuthenticationMode } from "@pulumi/eks/types/enums";
