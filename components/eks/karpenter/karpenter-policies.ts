/**
 * The statements of the CloudFormation template of Karpenter 1.14, without zonal shift and, if unused, spot. Every
 * right to create, change or delete is limited to resources with the cluster's own tags.
 */

interface Statement {
  readonly Sid: string;
  readonly Effect: "Allow" | "Deny";
  readonly Principal?: "*" | { readonly Service: string };
  readonly Action: string | readonly string[];
  readonly Resource: string | readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

export interface PolicyDocument {
  readonly Version: "2012-10-17";
  readonly Statement: readonly Statement[];
}

interface PolicyScope {
  /** AWS partition: `aws`, `aws-cn` or `aws-us-gov`. */
  readonly partition: string;
  readonly region: string;
  readonly accountId: string;
  readonly clusterName: string;
  readonly nodeRoleArn: string;
  readonly queueArn: string;
  readonly spot: boolean;
}

export const CONTROLLER_POLICIES = [
  "NodeLifecycle",
  "IamIntegration",
  "EksIntegration",
  "Interruption",
  "ResourceDiscovery",
] as const;
type ControllerPolicy = (typeof CONTROLLER_POLICIES)[number];

/** There are several policies, because a single policy would be longer than AWS allows. */
export function controllerPolicies(scope: PolicyScope): Readonly<Record<ControllerPolicy, PolicyDocument>> {
  return {
    NodeLifecycle: policy(...nodeLifecycle(scope)),
    IamIntegration: policy(...iamIntegration(scope)),
    EksIntegration: policy({
      Sid: "AllowAPIServerEndpointDiscovery",
      Effect: "Allow",
      Action: "eks:DescribeCluster",
      Resource: `arn:${scope.partition}:eks:${scope.region}:${scope.accountId}:cluster/${scope.clusterName}`,
    }),
    Interruption: policy({
      Sid: "AllowInterruptionQueueActions",
      Effect: "Allow",
      Action: ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"],
      Resource: scope.queueArn,
    }),
    ResourceDiscovery: policy(...resourceDiscovery(scope)),
  };
}

function policy(...statements: readonly Statement[]): PolicyDocument {
  return { Version: "2012-10-17", Statement: statements };
}

const NODEPOOL = "karpenter.sh/nodepool";
const NODECLASS = "karpenter.k8s.aws/ec2nodeclass";
const CLUSTER_NAME = "eks:eks-cluster-name";

/** Key of the tag that marks a machine, volume or launch template as owned by a cluster. The tag's value is `owned`. */
function ownershipTag(clusterName: string): string {
  return `kubernetes.io/cluster/${clusterName}`;
}

function nodeLifecycle({ partition, region, clusterName, spot }: PolicyScope): Statement[] {
  const ec2 = (account: "" | "*", ...kinds: readonly string[]): string[] =>
    kinds.map((kind) => `arn:${partition}:ec2:${region}:${account}:${kind}/*`);
  const owned = { [`aws:ResourceTag/${ownershipTag(clusterName)}`]: "owned" };
  const toBeOwned = {
    [`aws:RequestTag/${ownershipTag(clusterName)}`]: "owned",
    [`aws:RequestTag/${CLUSTER_NAME}`]: clusterName,
  };
  const requests = spot ? ["spot-instances-request"] : [];
  const created = ec2("*", "fleet", "instance", "volume", "network-interface", "launch-template", ...requests);
  return [
    {
      Sid: "AllowScopedEC2InstanceAccessActions",
      Effect: "Allow",
      Action: ["ec2:RunInstances", "ec2:CreateFleet"],
      Resource: [
        ...ec2("", "image", "snapshot"),
        ...ec2("*", "security-group", "subnet", "capacity-reservation", "placement-group"),
      ],
    },
    {
      Sid: "AllowScopedEC2LaunchTemplateAccessActions",
      Effect: "Allow",
      Action: ["ec2:RunInstances", "ec2:CreateFleet"],
      Resource: ec2("*", "launch-template"),
      Condition: { StringEquals: owned, StringLike: { [`aws:ResourceTag/${NODEPOOL}`]: "*" } },
    },
    {
      Sid: "AllowScopedEC2InstanceActionsWithTags",
      Effect: "Allow",
      Action: ["ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate"],
      Resource: created,
      Condition: { StringEquals: toBeOwned, StringLike: { [`aws:RequestTag/${NODEPOOL}`]: "*" } },
    },
    {
      Sid: "AllowScopedResourceCreationTagging",
      Effect: "Allow",
      Action: "ec2:CreateTags",
      Resource: created,
      Condition: {
        StringEquals: { ...toBeOwned, "ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"] },
        StringLike: { [`aws:RequestTag/${NODEPOOL}`]: "*" },
      },
    },
    {
      Sid: "AllowScopedResourceTagging",
      Effect: "Allow",
      Action: "ec2:CreateTags",
      Resource: ec2("*", "instance"),
      Condition: {
        StringEquals: owned,
        StringLike: { [`aws:ResourceTag/${NODEPOOL}`]: "*" },
        StringEqualsIfExists: { [`aws:RequestTag/${CLUSTER_NAME}`]: clusterName },
        "ForAllValues:StringEquals": { "aws:TagKeys": [CLUSTER_NAME, "karpenter.sh/nodeclaim", "Name"] },
      },
    },
    {
      Sid: "AllowScopedDeletion",
      Effect: "Allow",
      Action: ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
      Resource: ec2("*", "instance", "launch-template"),
      Condition: { StringEquals: owned, StringLike: { [`aws:ResourceTag/${NODEPOOL}`]: "*" } },
    },
  ];
}

function iamIntegration({ partition, region, accountId, clusterName, nodeRoleArn }: PolicyScope): Statement[] {
  const profiles = `arn:${partition}:iam::${accountId}:instance-profile/*`;
  const owned = {
    [`aws:ResourceTag/${ownershipTag(clusterName)}`]: "owned",
    "aws:ResourceTag/topology.kubernetes.io/region": region,
  };
  const toBeOwned = {
    [`aws:RequestTag/${ownershipTag(clusterName)}`]: "owned",
    [`aws:RequestTag/${CLUSTER_NAME}`]: clusterName,
    "aws:RequestTag/topology.kubernetes.io/region": region,
  };
  return [
    {
      Sid: "AllowPassingInstanceRole",
      Effect: "Allow",
      Action: "iam:PassRole",
      Resource: nodeRoleArn,
      Condition: { StringEquals: { "iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"] } },
    },
    {
      Sid: "AllowScopedInstanceProfileCreationActions",
      Effect: "Allow",
      Action: "iam:CreateInstanceProfile",
      Resource: profiles,
      Condition: { StringEquals: toBeOwned, StringLike: { [`aws:RequestTag/${NODECLASS}`]: "*" } },
    },
    {
      Sid: "AllowScopedInstanceProfileTagActions",
      Effect: "Allow",
      Action: "iam:TagInstanceProfile",
      Resource: profiles,
      Condition: {
        StringEquals: { ...owned, ...toBeOwned },
        StringLike: { [`aws:ResourceTag/${NODECLASS}`]: "*", [`aws:RequestTag/${NODECLASS}`]: "*" },
      },
    },
    {
      Sid: "AllowScopedInstanceProfileActions",
      Effect: "Allow",
      Action: ["iam:AddRoleToInstanceProfile", "iam:RemoveRoleFromInstanceProfile", "iam:DeleteInstanceProfile"],
      Resource: profiles,
      Condition: { StringEquals: owned, StringLike: { [`aws:ResourceTag/${NODECLASS}`]: "*" } },
    },
  ];
}

function resourceDiscovery({ partition, region, accountId }: PolicyScope): Statement[] {
  const described = [
    "CapacityReservations",
    "Images",
    "Instances",
    "InstanceStatus",
    "InstanceTypeOfferings",
    "InstanceTypes",
    "LaunchTemplates",
    "PlacementGroups",
    "SecurityGroups",
    "SpotPriceHistory",
    "Subnets",
  ];
  return [
    {
      Sid: "AllowRegionalReadActions",
      Effect: "Allow",
      Action: described.map((what) => `ec2:Describe${what}`),
      Resource: "*",
      Condition: { StringEquals: { "aws:RequestedRegion": region } },
    },
    {
      Sid: "AllowSSMReadActions",
      Effect: "Allow",
      Action: "ssm:GetParameter",
      Resource: `arn:${partition}:ssm:${region}::parameter/aws/service/*`,
    },
    { Sid: "AllowPricingReadActions", Effect: "Allow", Action: "pricing:GetProducts", Resource: "*" },
    {
      Sid: "AllowUnscopedInstanceProfileListAction",
      Effect: "Allow",
      Action: "iam:ListInstanceProfiles",
      Resource: "*",
    },
    {
      Sid: "AllowInstanceProfileReadActions",
      Effect: "Allow",
      Action: "iam:GetInstanceProfile",
      Resource: `arn:${partition}:iam::${accountId}:instance-profile/*`,
    },
  ];
}

/** Only from the cluster's own EventBridge rules, with TLS. @param ruleArns rules whose target is the queue */
export function queuePolicy(queueArn: string, ruleArns: readonly string[]): PolicyDocument {
  return policy(
    {
      Sid: "AllowRules",
      Effect: "Allow",
      Principal: { Service: "events.amazonaws.com" },
      Action: "sqs:SendMessage",
      Resource: queueArn,
      Condition: { ArnEquals: { "aws:SourceArn": ruleArns } },
    },
    {
      Sid: "DenyHTTP",
      Effect: "Deny",
      Principal: "*",
      Action: "sqs:*",
      Resource: queueArn,
      Condition: { Bool: { "aws:SecureTransport": "false" } },
    },
  );
}
