import * as aws from "./aws/aws-sdk";
import type { NatGatewayStrategy } from "@pulumi/awsx/types/enums/ec2";
import * as pulumi from "@pulumi/pulumi";
import type { NetworkPlan } from "../../platforms/eks/network-plan";
import { type NatStrategy, INTERFACE_ENDPOINTS } from "../../platforms/eks/plan";
import { DISCOVERY_TAG } from "./karpenter/pool-objects";

interface OwnNetworkArgs {
  readonly plan: NetworkPlan;
  readonly nat: NatStrategy;
  readonly flowLogs: boolean;
}

/**
 * An existing network, which the platform does not change. Its subnets must reach the image registries, through NAT or
 * endpoints.
 */
export interface ExistingNetworkArgs {
  readonly vpcId: string;
  /**
   * IDs of private subnets for machines and for the control plane's interfaces, at least one in each zone of `zones`.
   */
  readonly privateSubnetIds: readonly string[];
}

export interface NetworkArgs {
  /** Name of the cluster. It is part of the tags of the subnets. */
  readonly clusterName: string;
  /** AWS region, such as `us-west-2`. */
  readonly region: string;
  /** Names of the zones, in the order of the subnets. */
  readonly zones: readonly string[];
  readonly network: OwnNetworkArgs | ExistingNetworkArgs;
}

/**
 * The network of a cluster. A network that the platform creates has private subnets for machines in every zone, NAT as
 * configured, and endpoints for S3, ECR and STS.
 */
export class Network extends pulumi.ComponentResource {
  readonly vpcId: pulumi.Output<string>;
  readonly privateSubnetIds: pulumi.Output<string[]>;
  /** IDs of the machines' subnets; undefined if Karpenter selects subnets by tags. */
  readonly selectedSubnetIds: readonly string[] | undefined;

  constructor(
    name: string,
    { clusterName, region, zones, network }: NetworkArgs,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super("valkey:eks:Network", name, {}, opts);
    if ("vpcId" in network) {
      this.vpcId = pulumi.output(network.vpcId);
      this.privateSubnetIds = pulumi.output([...network.privateSubnetIds]);
      this.selectedSubnetIds = network.privateSubnetIds;
    } else {
      const vpc = ownVpc(name, this, clusterName, region, zones, network);
      this.vpcId = vpc.vpcId;
      this.privateSubnetIds = vpc.privateSubnetIds;
      this.selectedSubnetIds = undefined;
      reservePrefixes(name, this, vpc, network.plan);
      interfaceEndpoints(name, this, vpc, region, network.plan.cidr);
      if (network.flowLogs) new FlowLogs(name, { vpcId: vpc.vpcId }, { parent: this });
    }
    this.registerOutputs({ vpcId: this.vpcId, privateSubnetIds: this.privateSubnetIds });
  }
}

const NAT: Readonly<Record<NatStrategy, NatGatewayStrategy>> = {
  one: "Single",
  perZone: "OnePerAz",
};

function ownVpc(
  name: string,
  parent: Network,
  clusterName: string,
  region: string,
  zones: readonly string[],
  { plan, nat }: OwnNetworkArgs,
): aws.awsx.Vpc {
  return new aws.awsx.Vpc(
    name,
    {
      cidrBlock: plan.cidr,
      availabilityZoneNames: [...zones],
      subnetStrategy: "Auto",
      subnetSpecs: [
        {
          type: "Private",
          name: "private",
          cidrBlocks: plan.zones.map((zone) => zone.privateCidr),
          tags: { [DISCOVERY_TAG]: clusterName, "kubernetes.io/role/internal-elb": "1" },
        },
        {
          type: "Public",
          name: "public",
          cidrBlocks: plan.zones.map((zone) => zone.publicCidr),
          tags: { "kubernetes.io/role/elb": "1" },
        },
      ],
      natGateways: { strategy: NAT[nat] },
      enableDnsHostnames: true,
      enableDnsSupport: true,
      // Auto is needed: with a different strategy the gateway endpoint gets no routes.
      vpcEndpointStrategy: "Auto",
      vpcEndpointSpecs: [{ serviceName: `com.amazonaws.${region}.s3`, vpcEndpointType: "Gateway" }],
      tags: { Name: name },
    },
    { parent },
  );
}

/** AWS then takes single addresses from the rest of the subnet, so they do not fragment the reserved part. */
function reservePrefixes(name: string, parent: Network, vpc: aws.awsx.Vpc, { zones }: NetworkPlan): void {
  for (const [zone, { prefixCidrs }] of zones.entries()) {
    const subnetId = vpc.privateSubnetIds.apply((ids) => ids[zone] ?? "");
    for (const [part, cidrBlock] of prefixCidrs.entries()) {
      new aws.ec2.SubnetCidrReservation(
        `${name}-prefixes-${zone}-${part}`,
        { subnetId, cidrBlock, reservationType: "prefix", description: "prefixes of machines' pods" },
        { parent },
      );
    }
  }
}

function interfaceEndpoints(name: string, parent: Network, vpc: aws.awsx.Vpc, region: string, cidr: string): void {
  const group = new aws.ec2.SecurityGroup(
    `${name}-endpoints`,
    {
      vpcId: vpc.vpcId,
      description: "AWS endpoints, from inside the network",
      ingress: [{ protocol: "tcp", fromPort: 443, toPort: 443, cidrBlocks: [cidr] }],
      tags: { Name: `${name}-endpoints` },
    },
    { parent },
  );
  for (const service of INTERFACE_ENDPOINTS) {
    new aws.ec2.VpcEndpoint(
      `${name}-${service.replace(".", "-")}`,
      {
        vpcId: vpc.vpcId,
        serviceName: `com.amazonaws.${region}.${service}`,
        vpcEndpointType: "Interface",
        privateDnsEnabled: true,
        subnetIds: vpc.privateSubnetIds,
        securityGroupIds: [group.id],
        tags: { Name: `${name}-${service}` },
      },
      { parent },
    );
  }
}

interface FlowLogsArgs {
  readonly vpcId: pulumi.Input<string>;
  /** Retention of the logs, days. @default 7 */
  readonly retentionInDays?: number | undefined;
}

/** Deleted with the network. AWS charges by log volume. */
class FlowLogs extends pulumi.ComponentResource {
  constructor(name: string, { vpcId, retentionInDays = 7 }: FlowLogsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("valkey:eks:FlowLogs", name, {}, opts);
    const child = { parent: this };
    const group = new aws.cloudwatch.LogGroup(
      `${name}-flow-logs`,
      { name: `/valkey/${name}/flow-logs`, retentionInDays },
      child,
    );
    const role = new aws.iam.Role(
      `${name}-flow-logs`,
      {
        name: `${name}-flow-logs`,
        assumeRolePolicy: JSON.stringify({
          Version: "2012-10-17",
          Statement: [
            { Effect: "Allow", Principal: { Service: "vpc-flow-logs.amazonaws.com" }, Action: "sts:AssumeRole" },
          ],
        }),
      },
      child,
    );
    const policy = new aws.iam.RolePolicy(
      `${name}-flow-logs`,
      {
        role: role.name,
        policy: pulumi.jsonStringify({
          Version: "2012-10-17",
          Statement: [
            {
              Effect: "Allow",
              Action: ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"],
              Resource: pulumi.interpolate`${group.arn}:*`,
            },
          ],
        }),
      },
      child,
    );
    new aws.ec2.FlowLog(
      `${name}-flow-logs`,
      {
        vpcId,
        trafficType: "ALL",
        logDestinationType: "cloud-watch-logs",
        logDestination: group.arn,
        iamRoleArn: role.arn,
        tags: { Name: name },
      },
      { ...child, dependsOn: [policy] },
    );
    this.registerOutputs({});
  }
}
