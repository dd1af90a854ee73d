/** A stack on EKS as tests declare it, and AWS's answers to it. */
import type * as pulumi from "@pulumi/pulumi";
import type { EksPlatformArgs } from "../../../components/eks/platform-args";
import type { EksPlanArgs } from "../../../platforms/eks/plan";
import { POOL_DEFAULTS } from "../../../platforms/eks/pools/pools";
import type { PodGroup, ServerGroupArgs } from "../../../platforms/eks/pools/pod-groups";
import { serverPodGroup, clientPodGroup } from "../../../platforms/eks/pools/pod-groups";
import { type MockCalls, type MockOutputs, type ProgramRun, runProgram } from "./pulumi-mocks";

export const EKS_ZONES = ["us-west-2a", "us-west-2b", "us-west-2c"];
export const ACCOUNT_ID = "123456789012";
export const EKS_CLUSTER_NAME = "valkey";

/** Servers of a deployment, each on a machine of its own: by default as large as those of "Valkey on EKS". */
export const serverGroup = (
  name: string,
  changes: Partial<ServerGroupArgs> & Pick<ServerGroupArgs, "shape">,
): PodGroup =>
  serverPodGroup({
    name,
    pool: "servers",
    zones: EKS_ZONES,
    cpuMilli: 1000,
    memoryMiB: 12 * 1024,
    separate: true,
    ...changes,
  });

/** Load generators, each on a machine of its own. */
export const loadGroup = (count: number, changes: Partial<PodGroup> = {}): PodGroup =>
  clientPodGroup({
    name: "load",
    pool: "clients",
    count,
    zones: EKS_ZONES,
    cpuMilli: 1000,
    memoryMiB: 1024,
    separate: true,
    ...changes,
  });

/** "Valkey on EKS": a primary with three replicas beside three primaries with a replica each, and a load generator. */
export const VALKEY_ON_EKS_PLAN: EksPlanArgs = {
  region: "us-west-2",
  zones: EKS_ZONES,
  network: { existing: false, cidr: "10.0.0.0/16", nat: "one" },
  system: { machines: 2 },
  pools: { servers: POOL_DEFAULTS.servers, clients: POOL_DEFAULTS.clients },
  groups: [
    serverGroup("replication", {
      shape: { primaries: 1, replicasPerPrimary: 3 },
      volume: { gib: 50, storageClass: "gp3" },
    }),
    serverGroup("cluster", {
      shape: { primaries: 3, replicasPerPrimary: 1 },
      volume: { gib: 50, storageClass: "gp3-fast" },
    }),
    loadGroup(1),
  ],
  ownKey: true,
};

export function platformArgs(
  { region, zones, pools, groups, system }: EksPlanArgs = VALKEY_ON_EKS_PLAN,
  changes: Partial<EksPlatformArgs> = {},
): EksPlatformArgs {
  return {
    clusterName: EKS_CLUSTER_NAME,
    region,
    zones,
    pools,
    groups,
    system,
    publicAccess: { cidrs: ["198.51.100.0/24"] },
    access: { platform: { principalArn: `arn:aws:iam::${ACCOUNT_ID}:role/platform`, rights: "admin" } },
    tags: { project: "valkey-measured" },
    ...changes,
  };
}

const arnOf = (service: string, rest: string): string => `arn:aws:${service}:us-west-2:${ACCOUNT_ID}:${rest}`;

/** Outputs that AWS would add to its inputs, as far as anything reads them. ARNs hold ids where tests follow them. */
export const awsOutputs: MockOutputs = (type, name, inputs) => {
  const id = `id:${type}:${name}`;
  switch (type) {
    case "awsx:ec2:Vpc":
      return {
        vpcId: id,
        privateSubnetIds: EKS_ZONES.map((_, index) => `${id}:private-${index}`),
        publicSubnetIds: EKS_ZONES.map((_, index) => `${id}:public-${index}`),
      };
    case "eks:index:Cluster":
      return {
        eksCluster: {
          name: inputs["name"],
          endpoint: `https://${id}`,
          certificateAuthority: { data: "Q0E=" },
          vpcConfig: { clusterSecurityGroupId: `sg-of:${id}` },
        },
      };
    case "aws:iam/role:Role":
      return { arn: `arn:aws:iam::${ACCOUNT_ID}:role/${String(inputs["name"])}?${id}` };
    case "aws:iam/policy:Policy":
      return { arn: `arn:aws:iam::${ACCOUNT_ID}:policy/${String(inputs["name"])}?${id}` };
    case "aws:sqs/queue:Queue":
      return { arn: arnOf("sqs", `${String(inputs["name"])}?${id}`), url: `https://sqs/${id}` };
    case "aws:cloudwatch/eventRule:EventRule":
      return { arn: arnOf("events", `rule/${String(inputs["name"])}?${id}`) };
    case "aws:cloudwatch/logGroup:LogGroup":
    case "aws:kms/key:Key":
      return { arn: arnOf("any", id) };
    case "aws:ec2/launchTemplate:LaunchTemplate":
      return { latestVersion: 1 };
    default:
      return type.endsWith(":Password")
        ? { password: "generated" }
        : /^(aws|valkey|kubernetes|pulumi|pulumi-nodejs):/.test(type)
          ? {}
          : undefined;
  }
};

export const awsCalls: MockCalls = {
  "aws:index/getPartition:getPartition": () => ({ partition: "aws" }),
  "aws:index/getRegion:getRegion": () => ({ region: "us-west-2" }),
  "aws:index/getCallerIdentity:getCallerIdentity": () => ({ accountId: ACCOUNT_ID }),
};

export const accountCalls: MockCalls = {
  ...awsCalls,
  "aws:index/getAvailabilityZones:getAvailabilityZones": () => ({ names: [...EKS_ZONES, "us-west-2d"], zoneIds: [] }),
  "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": ({ filters }) => {
    const types = (filters as readonly { readonly values: readonly string[] }[])[0]?.values ?? [];
    const pairs = types.flatMap((type) => EKS_ZONES.map((zone) => [type, zone] as const));
    return {
      instanceTypes: pairs.map(([type]) => type),
      locations: pairs.map(([, zone]) => zone),
      locationTypes: pairs.map(() => "availability-zone"),
    };
  },
  "aws:iam/getRoles:getRoles": () => ({ names: ["AWSServiceRoleForEC2Spot"], arns: [] }),
  "aws:secretsmanager/getSecret:getSecret": ({ name }) => ({
    name,
    arn: arnOf("secretsmanager", `secret:${String(name)}-AbCdEf`),
  }),
  "aws:servicequotas/getServiceQuota:getServiceQuota": () => ({ value: 1e6 }),
  "aws:eks/getClusters:getClusters": () => ({ names: [] }),
  "aws:cloudwatch/getLogGroups:getLogGroups": () => ({ logGroupNames: [] }),
};

/** Without the ids that tests follow, as AWS would write it. */
export function plainArn(text: string): string {
  return text.replace(/\?id:[^"]*?(?=["]|$)/g, "");
}

export function declare(program: () => pulumi.Resource | Promise<pulumi.Resource>): Promise<ProgramRun> {
  return runProgram(
    async () => {
      await program();
    },
    awsOutputs,
    awsCalls,
  );
}
