/**
 * To which member of which of AWS' calls the providers give each input. Every type that a stack registers is here with
 * every input that it uses; another one fails the test until it has a rule.
 */
import { EC2_INPUTS } from "./ec2-inputs";
import { EKS_INPUTS } from "./eks-inputs";
import { type Mapping, kmsTags, pairs } from "./mapping";
import { S3_INPUTS } from "./s3-inputs";

const IAM: Readonly<Record<string, Mapping>> = {
  "aws:iam/role:Role": {
    inputs: {
      name: "iam.CreateRole.RoleName",
      description: "iam.CreateRole.Description",
      assumeRolePolicy: "iam.CreateRole.AssumeRolePolicyDocument",
    },
  },
  "aws:iam/policy:Policy": {
    inputs: { name: "iam.CreatePolicy.PolicyName", policy: "iam.CreatePolicy.PolicyDocument" },
  },
  "aws:iam/rolePolicy:RolePolicy": {
    // The provider makes up the name.
    supplied: { "iam.PutRolePolicy.PolicyName": "terraform-20260101000000000000000001" },
    inputs: { role: "iam.PutRolePolicy.RoleName", policy: "iam.PutRolePolicy.PolicyDocument" },
  },
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": {
    inputs: { role: "iam.AttachRolePolicy.RoleName", policyArn: "iam.AttachRolePolicy.PolicyArn" },
  },
};

const OTHERS: Readonly<Record<string, Mapping>> = {
  // The provider adds its tags to every resource.
  "pulumi:providers:aws": {
    supplied: {
      "iam.TagRole.RoleName": "supplied",
      "kms.TagResource.KeyId": "supplied",
      "ec2.CreateTags.Resources": ["vpc-supplied"],
      "ecr.TagResource.resourceArn": "supplied",
      "eks.TagResource.resourceArn": "supplied",
      "sqs.TagQueue.QueueUrl": "supplied",
      "logs.TagResource.resourceArn": "arn:aws:logs:us-west-2:123456789012:log-group:supplied",
      "events.TagResource.ResourceARN": "supplied",
    },
    inputs: {
      region: { provider: "part of the endpoints' names" },
      skipCredentialsValidation: { provider: "whether the provider asks who it is" },
      skipRegionValidation: { provider: "whether the provider knows the region" },
      defaultTags: {
        inside: {
          tags: {
            all: [
              { to: "eks.TagResource.tags" },
              {
                to: ["iam.TagRole.Tags", "ec2.CreateTags.Tags", "events.TagResource.Tags", "ecr.TagResource.tags"],
                as: pairs,
              },
              { to: ["sqs.TagQueue.Tags", "logs.TagResource.tags"] },
              kmsTags("kms.TagResource.Tags"),
            ],
          },
        },
      },
    },
  },
  "aws:cloudwatch/logGroup:LogGroup": {
    inputs: {
      name: { to: ["logs.CreateLogGroup.logGroupName", "logs.PutRetentionPolicy.logGroupName"] },
      retentionInDays: "logs.PutRetentionPolicy.retentionInDays",
    },
  },
  "aws:cloudwatch/eventRule:EventRule": {
    inputs: { name: "events.PutRule.Name", eventPattern: "events.PutRule.EventPattern" },
  },
  "aws:cloudwatch/eventTarget:EventTarget": {
    inputs: {
      rule: "events.PutTargets.Rule",
      targetId: "events.PutTargets.Targets.0.Id",
      arn: "events.PutTargets.Targets.0.Arn",
    },
  },
  "aws:sqs/queue:Queue": {
    inputs: {
      name: "sqs.CreateQueue.QueueName",
      messageRetentionSeconds: { to: "sqs.CreateQueue.Attributes.MessageRetentionPeriod", as: String },
      sqsManagedSseEnabled: { to: "sqs.CreateQueue.Attributes.SqsManagedSseEnabled", as: String },
    },
  },
  "aws:sqs/queuePolicy:QueuePolicy": {
    inputs: { queueUrl: "sqs.SetQueueAttributes.QueueUrl", policy: "sqs.SetQueueAttributes.Attributes.Policy" },
  },
  "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": {
    inputs: {
      ecrRepositoryPrefix: "ecr.CreatePullThroughCacheRule.ecrRepositoryPrefix",
      upstreamRegistryUrl: "ecr.CreatePullThroughCacheRule.upstreamRegistryUrl",
      credentialArn: "ecr.CreatePullThroughCacheRule.credentialArn",
    },
  },
  "aws:ecr/repository:Repository": {
    inputs: {
      name: "ecr.CreateRepository.repositoryName",
      imageTagMutability: "ecr.CreateRepository.imageTagMutability",
      forceDelete: { provider: "whether a repository with images is deleted" },
    },
  },
  "aws:kms/key:Key": {
    supplied: { "kms.ScheduleKeyDeletion.KeyId": "supplied" },
    inputs: {
      description: "kms.CreateKey.Description",
      enableKeyRotation: { provider: "EnableKeyRotation is called or not" },
      deletionWindowInDays: "kms.ScheduleKeyDeletion.PendingWindowInDays",
      tags: kmsTags("kms.CreateKey.Tags"),
    },
  },
};

export const PULUMI_INPUTS: Readonly<Record<string, Mapping>> = {
  ...EKS_INPUTS,
  ...EC2_INPUTS,
  ...S3_INPUTS,
  ...IAM,
  ...OTHERS,
};
