/** The control plane with its add-ons, its system machines and who may use it. */
import * as aws from "./aws-sdk";
import * as k8s from "../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import { isOpenToTheWorld } from "../../lib/cidr";
import { BadInput } from "../../lib/errors";
import type { PublicAccess } from "../../platforms/eks/public-access";
import { publicAccessProblem } from "../../platforms/eks/public-access";
import { NodeAddons } from "./node-addons";
import type { SystemArgs } from "../../platforms/eks/plan";
import { WARM_ADDRESSES } from "../../platforms/eks/network-plan";
import { DISCOVERY_TAG } from "./karpenter/pool-objects";
import { SystemNodes } from "./system-nodes";
import type { EksVersions } from "./versions";

/** A person or role with rights on the whole cluster. */
export interface AccessArgs {
  readonly principalArn: pulumi.Input<string>;
  /** `admin` may do everything; `view` may read all but secrets. */
  readonly rights: "admin" | "view";
}

export interface EksClusterArgs {
  /** Fixed, because IAM conditions and tags are made of it before the cluster is there. */
  readonly clusterName: string;
  /** Such as `us-west-2`. */
  readonly region: string;
  readonly vpcId: pulumi.Input<string>;
  readonly subnetIds: pulumi.Input<string[]>;
  readonly publicAccess: PublicAccess;
  /** By a name of the user's own. Whoever creates the cluster is an administrator anyway. */
  readonly access: Readonly<Record<string, AccessArgs>>;
  /** Key that secrets are encrypted with in etcd. @default a key of the stack's own, removed with it */
  readonly keyArn?: string | undefined;
  /** Days that the control plane's logs are kept. @default 7 */
  readonly logRetentionInDays: number;
  readonly system: SystemArgs;
  /** Whether AWS refuses to delete the cluster; to be switched off before it can be destroyed. @default false */
  readonly deletionProtection: boolean;
  readonly versions: EksVersions;
  readonly tags: Readonly<Record<string, string>>;
}

/** Tag of a cluster whose API server everyone may reach because that was said twice; policies look for it. */
export const WORLD_OPEN_TAG = "valkey-measured/open-to-the-world";

export const CONTROL_PLANE_LOG_TYPES = ["api", "audit", "authenticator", "controllerManager", "scheduler"] as const;

const RIGHTS: Readonly<Record<AccessArgs["rights"], string>> = {
  admin: "AmazonEKSClusterAdminPolicy",
  view: "AmazonEKSAdminViewPolicy",
};

export class EksCluster extends pulumi.ComponentResource {
  readonly clusterName: string;
  readonly provider: k8s.Provider;
  /** The group that EKS makes for control plane and machines. */
  readonly securityGroupId: pulumi.Output<string>;
  /** Pods can be scheduled, named, and given volumes once this is there. */
  readonly ready: pulumi.Resource[];
  /** What is to be there before machines of Karpenter's come and until they are gone. */
  readonly nodes: SystemNodes;
  /** A kubeconfig that has the AWS CLI ask for a token: whoever has it needs rights of their own, so there is nothing secret in it. */
  readonly kubeconfig: pulumi.Output<string>;

  /** @throws BadInput when the API server would be open to everyone without that being said twice */
  constructor(name: string, args: EksClusterArgs, opts?: pulumi.ComponentResourceOptions) {
    requireClosedAccess(args.publicAccess);
    const { clusterName, versions } = args;
    // Of a remote component the engine is told nothing, and policies see what it is told.
    super(
      "valkey:eks:Cluster",
      name,
      { addons: { "vpc-cni": versions.vpcCni, "kube-proxy": versions.kubeProxy } },
      opts,
    );
    this.clusterName = clusterName;

    const keyArn = args.keyArn === undefined ? ownKey(name, this, clusterName) : pulumi.output(args.keyArn);
    const cluster = controlPlane(name, this, args, keyArn);
    this.kubeconfig = kubeconfigOf(clusterName, args.region, cluster);
    // A change of configuration is an update of the object pods are told about, not another object; what an interrupted update
    // has made without getting to record it is taken over.
    this.provider = new k8s.Provider(
      `${name}-provider`,
      {
        kubeconfig: this.kubeconfig,
        enableConfigMapMutable: true,
        enableSecretMutable: true,
        upsertExistingObjects: true,
        enablePatchForce: true,
      },
      { parent: this },
    );
    this.securityGroupId = cluster.eksCluster.vpcConfig.clusterSecurityGroupId;
    const discovery = new aws.ec2.Tag(
      `${name}-discovery`,
      { resourceId: this.securityGroupId, key: DISCOVERY_TAG, value: clusterName },
      { parent: this },
    );

    this.nodes = new SystemNodes(
      name,
      { clusterName, subnetIds: args.subnetIds, ...args.system, versions, tags: args.tags },
      { parent: this, dependsOn: [cluster] },
    );
    const addons = new NodeAddons(name, { clusterName, versions }, { parent: this, dependsOn: [cluster, this.nodes] });
    this.ready = [cluster, discovery, this.nodes, addons];
    this.registerOutputs({ clusterName, access: this.kubeconfig });
  }
}

/** Before anything is made. @throws BadInput */
export function requireClosedAccess(access: PublicAccess): void {
  const problem = publicAccessProblem(access);
  if (problem !== undefined) throw new BadInput("publicAccess", [problem]);
}

/** As the AWS CLI writes it (`aws eks update-kubeconfig`). */
function kubeconfigOf(clusterName: string, region: string, { eksCluster }: aws.EksControlPlane): pulumi.Output<string> {
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1beta1",
    command: "aws",
    args: ["--region", region, "eks", "get-token", "--cluster-name", clusterName, "--output", "json"],
    interactiveMode: "Never",
  };
  return pulumi.jsonStringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": clusterName,
    contexts: [{ name: clusterName, context: { cluster: clusterName, user: clusterName } }],
    clusters: [
      {
        name: clusterName,
        cluster: { server: eksCluster.endpoint, "certificate-authority-data": eksCluster.certificateAuthority.data },
      },
    ],
    users: [{ name: clusterName, user: { exec } }],
  });
}

function ownKey(name: string, parent: EksCluster, clusterName: string): pulumi.Output<string> {
  const key = new aws.kms.Key(
    `${name}-secrets`,
    {
      description: `Secrets of the Kubernetes cluster ${clusterName}`,
      enableKeyRotation: true,
      deletionWindowInDays: 7,
      tags: { Name: `${clusterName}-secrets` },
    },
    { parent },
  );
  return key.arn;
}

function controlPlane(
  name: string,
  parent: EksCluster,
  args: EksClusterArgs,
  keyArn: pulumi.Output<string>,
): aws.EksControlPlane {
  const { clusterName, publicAccess, versions } = args;
  // EKS makes this group itself where it is missing, and leaves it behind.
  const logs = new aws.cloudwatch.LogGroup(
    `${name}-control-plane`,
    { name: `/aws/eks/${clusterName}/cluster`, retentionInDays: args.logRetentionInDays },
    { parent },
  );
  return new aws.EksControlPlane(
    name,
    {
      name: clusterName,
      version: versions.kubernetes,
      vpcId: args.vpcId,
      privateSubnetIds: args.subnetIds,
      endpointPrivateAccess: true,
      endpointPublicAccess: publicAccess.cidrs.length > 0,
      ...(publicAccess.cidrs.length > 0 && { publicAccessCidrs: [...publicAccess.cidrs] }),
      authenticationMode: aws.AuthenticationMode.Api,
      accessEntries: Object.fromEntries(
        Object.entries(args.access).map(([who, { principalArn, rights }]) => [
          who,
          {
            principalArn,
            accessPolicies: {
              [rights]: {
                policyArn: `arn:aws:eks::aws:cluster-access-policy/${RIGHTS[rights]}`,
                accessScope: { type: "cluster" },
              },
            },
          },
        ]),
      ),
      encryptionConfigKeyArn: keyArn,
      enabledClusterLogTypes: [...CONTROL_PLANE_LOG_TYPES],
      deletionProtection: args.deletionProtection,
      skipDefaultNodeGroup: true,
      skipDefaultSecurityGroups: true,
      createOidcProvider: false,
      bootstrapSelfManagedAddons: false,
      // A spare address instead of a spare prefix: half the addresses for machines that carry few pods.
      vpcCniOptions: {
        addonVersion: versions.vpcCni,
        enablePrefixDelegation: true,
        warmIpTarget: WARM_ADDRESSES,
        enableNetworkPolicy: true,
      },
      kubeProxyAddonOptions: { enabled: true, version: versions.kubeProxy },
      // Before there is a machine CoreDNS waits for 20 minutes and ends degraded: it comes after them.
      corednsAddonOptions: { enabled: false },
      upgradePolicy: { supportType: "STANDARD" },
      clusterTags: isOpenToTheWorld(publicAccess.cidrs) ? { [WORLD_OPEN_TAG]: "true" } : {},
      tags: { ...args.tags },
    },
    { parent, dependsOn: [logs] },
  );
}
