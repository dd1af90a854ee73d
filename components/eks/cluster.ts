import * as aws from "./aws/aws-sdk";
import * as k8s from "../kubernetes/kubernetes-sdk";
import * as pulumi from "@pulumi/pulumi";
import { type AccessEntries, accessEntries } from "./access";
import { CONTROL_PLANE_LOG_TYPES, createLogGroup } from "./control-plane-logs";
import { isOpenToTheWorld } from "../../lib/cidr";
import { BadInput } from "../../lib/errors";
import { type PublicAccess, publicAccessProblem } from "../../platforms/eks/public-access";
import type { ControlPlaneTier } from "../../platforms/eks/offers/control-plane";
import type { SystemPlan } from "../../platforms/eks/scale/system-machines";
import { WARM_ADDRESSES } from "../../platforms/eks/network-plan";
import { DISCOVERY_TAG } from "./karpenter/pool-objects";
import { SystemNodes, NodeAddons } from "./system-nodes";
import type { EksVersions } from "./aws/versions";

/** The resource is a child of the cluster component. */
const CLUSTER_TYPE = "aws:eks/cluster:Cluster";

export interface EksClusterArgs {
  /**
   * Name of the cluster. It is a plain value, because IAM conditions and tags contain the name before the cluster
   * exists.
   */
  readonly clusterName: string;
  /** AWS region, such as `us-west-2`. */
  readonly region: string;
  readonly vpcId: pulumi.Input<string>;
  readonly subnetIds: pulumi.Input<string[]>;
  readonly publicAccess: PublicAccess;
  /**
   * Principals that may use the cluster, by a name of your choice. The principal that creates the cluster is always an
   * administrator.
   */
  readonly access: AccessEntries;
  /** ARN of the key that encrypts secrets in etcd. @default a key that the stack creates and deletes */
  readonly keyArn?: string | undefined;
  /** Retention of the control plane's logs, days. @default 7 */
  readonly logRetentionInDays: number;
  /**
   * Whether the cluster takes over the log group of an earlier cluster with this name. `checkAccount` finds such a
   * group.
   */
  readonly takesOverLogGroup: boolean;
  readonly system: SystemPlan;
  readonly controlPlaneTier: ControlPlaneTier;
  /** Whether AWS refuses to delete the cluster. Set it to false before `pulumi destroy`. @default false */
  readonly deletionProtection: boolean;
  readonly versions: EksVersions;
  /** Tags of every AWS resource that the platform creates. */
  readonly tags: Readonly<Record<string, string>>;
}

/** The policy pack reads the tag. */
const WORLD_OPEN_TAG = "valkey-measured/open-to-the-world";

export class EksCluster extends pulumi.ComponentResource {
  readonly clusterName: string;
  readonly provider: k8s.Provider;
  /**
   * The control plane. A resource that needs no machine can depend on the control plane instead of `ready`, which also
   * waits for machines and DNS. Pulumi then creates that resource minutes earlier.
   */
  readonly controlPlane: pulumi.Resource;
  /** The security group that EKS creates for the control plane and the machines. */
  readonly securityGroupId: pulumi.Output<string>;
  /** Resources that pods must depend on, so that machines, DNS and volumes are available to them. */
  readonly ready: pulumi.Resource[];
  /** The system machines. They must outlive the machines that Karpenter starts. */
  readonly nodes: SystemNodes;
  /** Kubeconfig that gets a token from the AWS CLI. It contains no secret, so its user needs AWS credentials. */
  readonly kubeconfig: pulumi.Output<string>;

  /** @throws BadInput when the API server would be open to the world without `openToTheWorld: true` */
  constructor(name: string, args: EksClusterArgs, opts?: pulumi.ComponentResourceOptions) {
    requireClosedAccess(args.publicAccess);
    const { clusterName, versions } = args;
    // Pulumi policies do not see the inputs of a remote component, so the versions are also inputs of this component.
    super(
      "valkey:eks:Cluster",
      name,
      { addons: { "vpc-cni": versions.vpcCni, "kube-proxy": versions.kubeProxy } },
      opts,
    );
    this.clusterName = clusterName;

    const keyArn = args.keyArn === undefined ? ownKey(name, this, clusterName) : pulumi.output(args.keyArn);
    const cluster = controlPlane(name, this, args, keyArn);
    this.controlPlane = cluster;
    this.kubeconfig = kubeconfigOf(clusterName, args.region, cluster);
    // ConfigMaps and Secrets are updated in place, because pods refer to them by name. Objects that an interrupted
    // update created but did not record in the state are adopted.
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
    const addons = new NodeAddons(
      name,
      { clusterName, versions, dnsReplicas: args.system.dnsReplicas },
      { parent: this, dependsOn: [cluster, this.nodes] },
    );
    this.ready = [cluster, discovery, this.nodes, addons];
    this.registerOutputs({ clusterName, access: this.kubeconfig });
  }
}

/** @throws BadInput */
function requireClosedAccess(access: PublicAccess): void {
  const why = publicAccessProblem(access);
  if (why !== undefined) throw BadInput.of("publicAccess", "open-access", why);
}

/** The kubeconfig that `aws eks update-kubeconfig` writes. */
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
  const logs = createLogGroup(
    name,
    { clusterName, retentionInDays: args.logRetentionInDays, takenOver: args.takesOverLogGroup },
    parent,
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
      accessEntries: accessEntries(args.access),
      encryptionConfigKeyArn: keyArn,
      enabledClusterLogTypes: [...CONTROL_PLANE_LOG_TYPES],
      deletionProtection: args.deletionProtection,
      skipDefaultNodeGroup: true,
      skipDefaultSecurityGroups: true,
      createOidcProvider: false,
      bootstrapSelfManagedAddons: false,
      // Machines with few pods take half as many addresses if they keep a spare address instead of a spare prefix.
      vpcCniOptions: {
        addonVersion: versions.vpcCni,
        enablePrefixDelegation: true,
        warmIpTarget: WARM_ADDRESSES,
        enableNetworkPolicy: true,
        // The component's default level is DEBUG, which logs every address of every pod. `logLevel` sets the level of
        // the daemon; there is no option for the level of the plugin, so a variable sets it.
        logLevel: "INFO",
        configurationValues: { env: { AWS_VPC_K8S_PLUGIN_LOG_LEVEL: "INFO" } },
      },
      kubeProxyAddonOptions: { enabled: true, version: versions.kubeProxy },
      // Without machines the CoreDNS add-on waits for 20 minutes and then fails as degraded, so NodeAddons adds it
      // later.
      corednsAddonOptions: { enabled: false },
      upgradePolicy: { supportType: "STANDARD" },
      clusterTags: isOpenToTheWorld(publicAccess.cidrs) ? { [WORLD_OPEN_TAG]: "true" } : {},
      tags: { ...args.tags },
    },
    { parent, dependsOn: [logs], transforms: tierTransforms(args.controlPlaneTier) },
  );
}

/** `@pulumi/eks` has no argument for the tier. Since 3.113, Pulumi transforms also children of remote components. */
function tierTransforms(tier: ControlPlaneTier): pulumi.ResourceTransform[] {
  if (tier === "standard") return [];
  return [
    ({ type, props, opts }) =>
      type === CLUSTER_TYPE
        ? { props: { ...(props as object), controlPlaneScalingConfig: { tier } }, opts }
        : undefined,
  ];
}
