/**
 * Rules that send each input of a resource to a member of an AWS call, as the providers do. Every type that a stack
 * registers is here. By default an input goes to the member of its name. Without such a member the test fails until the
 * input has a rule.
 */

export type Rule =
  /** One or several members, such as `eks.CreateCluster.name`. `#` tells several requests of one call apart. */
  | string
  | readonly string[]
  | {
      readonly to: string | readonly string[];
      readonly as: (value: unknown) => unknown;
    }
  | { readonly inside: Inputs }
  | { readonly all: readonly Rule[] }
  | { readonly each: (name: string) => Inputs }
  /** No call gets it, and why. */
  | { readonly provider: string };

export type Inputs = Readonly<Record<string, Rule>>;

export interface Mapping {
  /** Call that gets the inputs without a rule. @default every input needs a rule */
  readonly call?: string;
  readonly inputs?: Inputs;
  /** Members that the provider adds by itself, in every request of their call. */
  readonly supplied?: Readonly<Record<string, unknown>>;
}

type Objects = readonly Readonly<Record<string, unknown>>[];
type Mappings = Readonly<Record<string, Mapping>>;

const entries = (value: unknown): [string, unknown][] => Object.entries(value as object);
const pairs = (tags: unknown): object[] => entries(tags).map(([Key, Value]) => ({ Key, Value }));
const ec2Tags = (call: string, type: string): Rule => ({
  to: `ec2.${call}.TagSpecifications`,
  as: (tags) => [{ ResourceType: type, Tags: pairs(tags) }],
});
const kmsTags = (to: string): Rule => ({
  to,
  as: (tags) => entries(tags).map(([TagKey, TagValue]) => ({ TagKey, TagValue })),
});
const yes = (value: unknown): unknown => (value === "true" ? true : value === "false" ? false : value);

const COMPONENT: Rule = { provider: "a choice of the component's" };
/** A name that the provider makes up, of 26 digits at most. */
const MADE_UP = "terraform-20260101000000000000000001";
const ROLE = "arn:aws:iam::123456789012:role/supplied";

const EC2: Mappings = {
  "awsx:ec2:Vpc": {
    call: "ec2.CreateVpc",
    supplied: {
      "ec2.CreateSubnet.VpcId": "vpc-supplied",
      "ec2.CreateVpcEndpoint.VpcId": "vpc-supplied",
      "ec2.ModifyVpcAttribute.VpcId": "vpc-supplied",
    },
    inputs: {
      availabilityZoneNames: { provider: "one CreateSubnet for each zone and each of the subnets below" },
      subnetSpecs: {
        each: (index) => ({
          type: COMPONENT,
          name: { provider: "part of the tag Name" },
          cidrBlocks: { to: `ec2.CreateSubnet#${index}.CidrBlock`, as: (blocks) => (blocks as unknown[])[0] },
          tags: ec2Tags(`CreateSubnet#${index}`, "subnet"),
        }),
      },
      subnetStrategy: COMPONENT,
      natGateways: { inside: { strategy: COMPONENT } },
      enableDnsHostnames: "ec2.ModifyVpcAttribute#hostnames.EnableDnsHostnames.Value",
      enableDnsSupport: "ec2.ModifyVpcAttribute#support.EnableDnsSupport.Value",
      vpcEndpointStrategy: COMPONENT,
      vpcEndpointSpecs: {
        each: (index) => ({
          serviceName: `ec2.CreateVpcEndpoint#${index}.ServiceName`,
          vpcEndpointType: `ec2.CreateVpcEndpoint#${index}.VpcEndpointType`,
        }),
      },
      tags: ec2Tags("CreateVpc", "vpc"),
    },
  },
  "aws:ec2/vpcEndpoint:VpcEndpoint": {
    call: "ec2.CreateVpcEndpoint",
    inputs: { tags: ec2Tags("CreateVpcEndpoint", "vpc-endpoint") },
  },
  "aws:ec2/securityGroup:SecurityGroup": {
    call: "ec2.CreateSecurityGroup",
    supplied: { "ec2.CreateSecurityGroup.GroupName": MADE_UP },
    inputs: {
      ingress: {
        to: "ec2.AuthorizeSecurityGroupIngress.IpPermissions",
        as: (rules) =>
          (rules as Objects).map(({ protocol: IpProtocol, cidrBlocks, ...ports }) => ({
            ...{ IpProtocol, ...ports },
            IpRanges: (cidrBlocks as unknown[]).map((CidrIp) => ({ CidrIp })),
          })),
      },
      tags: ec2Tags("CreateSecurityGroup", "security-group"),
    },
  },
  "aws:ec2/subnetCidrReservation:SubnetCidrReservation": {
    call: "ec2.CreateSubnetCidrReservation",
    inputs: { cidrBlock: "ec2.CreateSubnetCidrReservation.Cidr" },
  },
  "aws:ec2/tag:Tag": {
    inputs: {
      resourceId: "ec2.CreateTags.Resources.0",
      key: "ec2.CreateTags.Tags.0.Key",
      value: "ec2.CreateTags.Tags.0.Value",
    },
  },
  "aws:ec2/flowLog:FlowLog": {
    call: "ec2.CreateFlowLogs",
    supplied: { "ec2.CreateFlowLogs.ResourceType": "VPC" },
    inputs: {
      vpcId: "ec2.CreateFlowLogs.ResourceIds.0",
      iamRoleArn: "ec2.CreateFlowLogs.DeliverLogsPermissionArn",
      tags: ec2Tags("CreateFlowLogs", "vpc-flow-log"),
    },
  },
  "aws:ec2/launchTemplate:LaunchTemplate": {
    inputs: {
      name: "ec2.CreateLaunchTemplate.LaunchTemplateName",
      updateDefaultVersion: { provider: "which version the provider makes the default" },
      metadataOptions: "ec2.CreateLaunchTemplate.LaunchTemplateData.MetadataOptions",
      blockDeviceMappings: {
        to: "ec2.CreateLaunchTemplate.LaunchTemplateData.BlockDeviceMappings",
        as: (disks) =>
          (disks as Objects).map(({ ebs, ...disk }) => ({
            ...disk,
            Ebs: Object.fromEntries(entries(ebs).map(([key, value]) => [key, yes(value)])),
          })),
      },
      tagSpecifications: {
        to: "ec2.CreateLaunchTemplate.LaunchTemplateData.TagSpecifications",
        as: (all) => (all as Objects).map(({ tags, ...each }) => ({ ...each, Tags: pairs(tags) })),
      },
    },
  },
};

const componentAddon = (name: string, version = "version"): Rule => ({
  inside: {
    enabled: COMPONENT,
    [version]: `eks.CreateAddon#${name}.addonVersion`,
    resolveConflictsOnCreate: `eks.CreateAddon#${name}.resolveConflicts`,
    resolveConflictsOnUpdate: `eks.UpdateAddon#${name}.resolveConflicts`,
    configurationValues: { to: `eks.CreateAddon#${name}.configurationValues`, as: (values) => JSON.stringify(values) },
    ...Object.fromEntries(
      ["enablePrefixDelegation", "warmIpTarget", "enableNetworkPolicy", "logLevel"].map((key): [string, Rule] => [
        key,
        { provider: "the component writes it into the CNI's configuration" },
      ]),
    ),
  },
});
const NETWORK = "eks.CreateCluster.resourcesVpcConfig";

const EKS: Mappings = {
  "eks:index:Cluster": {
    call: "eks.CreateCluster",
    supplied: {
      "eks.CreateCluster.roleArn": ROLE,
      "eks.TagResource.resourceArn": "supplied",
      "eks.CreateAddon.clusterName": "supplied",
      "eks.CreateAddon.addonName": "supplied",
      "eks.UpdateAddon.clusterName": "supplied",
      "eks.UpdateAddon.addonName": "supplied",
      "eks.CreateAccessEntry.clusterName": "supplied",
      "eks.AssociateAccessPolicy.clusterName": "supplied",
      "eks.AssociateAccessPolicy.principalArn": ROLE,
    },
    inputs: {
      vpcId: { provider: "the component's security groups are in it" },
      privateSubnetIds: `${NETWORK}.subnetIds`,
      endpointPrivateAccess: `${NETWORK}.endpointPrivateAccess`,
      endpointPublicAccess: `${NETWORK}.endpointPublicAccess`,
      publicAccessCidrs: `${NETWORK}.publicAccessCidrs`,
      authenticationMode: "eks.CreateCluster.accessConfig.authenticationMode",
      enabledClusterLogTypes: {
        to: "eks.CreateCluster.logging.clusterLogging",
        as: (types) => [{ enabled: true, types }],
      },
      encryptionConfigKeyArn: {
        to: "eks.CreateCluster.encryptionConfig",
        as: (keyArn) => [{ resources: ["secrets"], provider: { keyArn } }],
      },
      clusterTags: "eks.TagResource#cluster.tags",
      accessEntries: {
        each: (who) => ({
          principalArn: `eks.CreateAccessEntry#${who}.principalArn`,
          type: `eks.CreateAccessEntry#${who}.type`,
          kubernetesGroups: `eks.CreateAccessEntry#${who}.kubernetesGroups`,
          accessPolicies: {
            each: (policy) => ({
              policyArn: `eks.AssociateAccessPolicy#${who}-${policy}.policyArn`,
              accessScope: `eks.AssociateAccessPolicy#${who}-${policy}.accessScope`,
            }),
          },
        }),
      },
      vpcCniOptions: componentAddon("vpc-cni", "addonVersion"),
      kubeProxyAddonOptions: componentAddon("kube-proxy"),
      corednsAddonOptions: componentAddon("coredns"),
      createOidcProvider: COMPONENT,
      skipDefaultNodeGroup: COMPONENT,
      skipDefaultSecurityGroups: COMPONENT,
    },
  },
  "aws:eks/nodeGroup:NodeGroup": {
    call: "eks.CreateNodegroup",
    inputs: { nodeRoleArn: "eks.CreateNodegroup.nodeRole", subnetIds: "eks.CreateNodegroup.subnets" },
  },
  "aws:eks/addon:Addon": {
    call: "eks.CreateAddon",
    supplied: { "eks.UpdateAddon.addonName": "supplied", "eks.UpdateAddon.clusterName": "supplied" },
    inputs: {
      resolveConflictsOnCreate: "eks.CreateAddon.resolveConflicts",
      resolveConflictsOnUpdate: "eks.UpdateAddon.resolveConflicts",
    },
  },
  "aws:eks/accessEntry:AccessEntry": { call: "eks.CreateAccessEntry" },
  "aws:eks/podIdentityAssociation:PodIdentityAssociation": { call: "eks.CreatePodIdentityAssociation" },
};

const S3: Mappings = {
  "aws:s3/bucket:Bucket": {
    call: "s3.CreateBucket",
    inputs: {
      // The provider adds 26 digits.
      bucketPrefix: { to: "s3.CreateBucket.Bucket", as: (prefix) => `${String(prefix)}20260101000000000000000001` },
      forceDestroy: { provider: "whether a bucket with objects is deleted" },
    },
  },
  "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": {
    call: "s3.PutPublicAccessBlock.PublicAccessBlockConfiguration",
    inputs: { bucket: "s3.PutPublicAccessBlock.Bucket" },
  },
  "aws:s3/bucketPolicy:BucketPolicy": { call: "s3.PutBucketPolicy" },
  "aws:s3/bucketOwnershipControls:BucketOwnershipControls": {
    call: "s3.PutBucketOwnershipControls",
    inputs: { rule: "s3.PutBucketOwnershipControls.OwnershipControls.Rules.0" },
  },
  "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": {
    call: "s3.PutBucketEncryption",
    inputs: { rules: "s3.PutBucketEncryption.ServerSideEncryptionConfiguration.Rules" },
  },
  "aws:s3/bucketVersioning:BucketVersioning": { call: "s3.PutBucketVersioning" },
  "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": {
    call: "s3.PutBucketLifecycleConfiguration",
    inputs: { rules: "s3.PutBucketLifecycleConfiguration.LifecycleConfiguration.Rules" },
  },
};

const OTHERS: Mappings = {
  "aws:iam/role:Role": {
    call: "iam.CreateRole",
    inputs: { name: "iam.CreateRole.RoleName", assumeRolePolicy: "iam.CreateRole.AssumeRolePolicyDocument" },
  },
  "aws:iam/policy:Policy": {
    inputs: { name: "iam.CreatePolicy.PolicyName", policy: "iam.CreatePolicy.PolicyDocument" },
  },
  "aws:iam/rolePolicy:RolePolicy": {
    supplied: { "iam.PutRolePolicy.PolicyName": MADE_UP },
    inputs: { role: "iam.PutRolePolicy.RoleName", policy: "iam.PutRolePolicy.PolicyDocument" },
  },
  "aws:iam/rolePolicyAttachment:RolePolicyAttachment": {
    call: "iam.AttachRolePolicy",
    inputs: { role: "iam.AttachRolePolicy.RoleName" },
  },
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
              ["eks.TagResource.tags", "sqs.TagQueue.Tags", "logs.TagResource.tags"],
              {
                to: ["iam.TagRole.Tags", "ec2.CreateTags.Tags", "events.TagResource.Tags", "ecr.TagResource.tags"],
                as: pairs,
              },
              kmsTags("kms.TagResource.Tags"),
            ],
          },
        },
      },
    },
  },
  "aws:cloudwatch/logGroup:LogGroup": {
    call: "logs.PutRetentionPolicy",
    inputs: { name: ["logs.CreateLogGroup.logGroupName", "logs.PutRetentionPolicy.logGroupName"] },
  },
  "aws:cloudwatch/eventRule:EventRule": { call: "events.PutRule" },
  "aws:cloudwatch/eventTarget:EventTarget": {
    call: "events.PutTargets",
    inputs: { targetId: "events.PutTargets.Targets.0.Id", arn: "events.PutTargets.Targets.0.Arn" },
  },
  "aws:sqs/queue:Queue": {
    inputs: {
      name: "sqs.CreateQueue.QueueName",
      messageRetentionSeconds: { to: "sqs.CreateQueue.Attributes.MessageRetentionPeriod", as: String },
      sqsManagedSseEnabled: { to: "sqs.CreateQueue.Attributes.SqsManagedSseEnabled", as: String },
    },
  },
  "aws:sqs/queuePolicy:QueuePolicy": {
    call: "sqs.SetQueueAttributes",
    inputs: { policy: "sqs.SetQueueAttributes.Attributes.Policy" },
  },
  "aws:ecr/pullThroughCacheRule:PullThroughCacheRule": { call: "ecr.CreatePullThroughCacheRule" },
  "aws:ecr/repository:Repository": {
    call: "ecr.CreateRepository",
    inputs: {
      name: "ecr.CreateRepository.repositoryName",
      forceDelete: { provider: "whether a repository with images is deleted" },
    },
  },
  "aws:kms/key:Key": {
    call: "kms.CreateKey",
    supplied: { "kms.ScheduleKeyDeletion.KeyId": "supplied" },
    inputs: {
      enableKeyRotation: { provider: "EnableKeyRotation is called or not" },
      deletionWindowInDays: "kms.ScheduleKeyDeletion.PendingWindowInDays",
      tags: kmsTags("kms.CreateKey.Tags"),
    },
  },
};

export const PULUMI_INPUTS: Mappings = { ...EC2, ...EKS, ...S3, ...OTHERS };
