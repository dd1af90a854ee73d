/** The machines on which Karpenter, CoreDNS and the volume controller run, and the add-ons that need them. */
import * as aws from "./aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { createNodeRole, podIdentityTrust } from "./aws/roles";
import { architecturesOf } from "../../platforms/eks/pools/pools";
import type { Architecture } from "../../platforms/eks/offers/machine-types";
import { SYSTEM_ROOT_GIB } from "../../platforms/eks/plan";
import type { SystemPlan } from "../../platforms/eks/scale/system-machines";
import type { EksVersions } from "./aws/versions";
import { clusterArn } from "./aws/account";

const SYSTEM_ONLY = [{ key: "CriticalAddonsOnly", operator: "Exists" }];

/** If a zone has no machine, a replica of CoreDNS runs in a different zone, which is better than none. */
const COREDNS = {
  tolerations: SYSTEM_ONLY,
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "topology.kubernetes.io/zone",
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: { "k8s-app": "kube-dns" } },
    },
  ],
};

/** Its default storage class is off: the stack creates its own storage classes. */
const EBS_CSI = { defaultStorageClass: { enabled: false }, controller: { tolerations: SYSTEM_ONLY } };

interface SystemNodesArgs extends Pick<SystemPlan, "instanceType" | "machines"> {
  readonly clusterName: string;
  readonly subnetIds: pulumi.Input<string[]>;
  readonly versions: EksVersions;
  readonly tags: Readonly<Record<string, string>>;
}

/** Karpenter's charts, CoreDNS and the CSI controller tolerate it by default. */
const SYSTEM_TAINT = { key: "CriticalAddonsOnly", value: "true", effect: "NO_SCHEDULE" } as const;

const SYSTEM_IMAGES: Readonly<Record<Architecture, string>> = {
  arm64: "AL2023_ARM_64_STANDARD",
  amd64: "AL2023_x86_64_STANDARD",
};

/**
 * The system machines. They are a managed node group, because Karpenter cannot start the machines on which it runs
 * itself.
 */
export class SystemNodes extends pulumi.ComponentResource {
  readonly group: aws.eks.NodeGroup;

  constructor(
    name: string,
    { clusterName, subnetIds, instanceType, machines, versions, tags }: SystemNodesArgs,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super("valkey:eks:SystemNodes", name, {}, opts);
    const role = createNodeRole(`${name}-system`, `${clusterName}-system-node`, this);
    const template = new aws.ec2.LaunchTemplate(
      `${name}-system`,
      {
        name: `${clusterName}-system`,
        updateDefaultVersion: true,
        metadataOptions: { httpEndpoint: "enabled", httpTokens: "required", httpPutResponseHopLimit: 1 },
        blockDeviceMappings: [
          {
            deviceName: "/dev/xvda",
            ebs: { volumeType: "gp3", volumeSize: SYSTEM_ROOT_GIB, encrypted: "true", deleteOnTermination: "true" },
          },
        ],
        tagSpecifications: ["instance", "volume", "network-interface"].map((resourceType) => ({
          resourceType,
          tags: { ...tags, Name: `${clusterName}-system` },
        })),
      },
      { parent: this },
    );
    this.group = new aws.eks.NodeGroup(
      `${name}-system`,
      {
        clusterName,
        nodeGroupName: `${clusterName}-system`,
        nodeRoleArn: role.role.arn,
        subnetIds,
        amiType: SYSTEM_IMAGES[architecturesOf([instanceType])[0] ?? "arm64"],
        version: versions.kubernetes,
        releaseVersion: `${versions.kubelet}-${versions.machineImage}`,
        capacityType: "ON_DEMAND",
        instanceTypes: [instanceType],
        scalingConfig: { minSize: machines, desiredSize: machines, maxSize: machines + 1 },
        updateConfig: { maxUnavailable: 1 },
        launchTemplate: { id: template.id, version: pulumi.interpolate`${template.latestVersion}` },
        taints: [{ ...SYSTEM_TAINT }],
        labels: { "valkey-measured/pool": "system" },
        tags: { ...tags },
      },
      // The policies must outlive the machines, because the CNI plugin needs them to release network interfaces.
      { parent: this, dependsOn: role.policies },
    );
    this.registerOutputs({});
  }
}

interface NodeAddonsArgs {
  readonly clusterName: string;
  readonly versions: EksVersions;
  readonly dnsReplicas: number;
}

export class NodeAddons extends pulumi.ComponentResource {
  constructor(
    name: string,
    { clusterName, versions, dnsReplicas }: NodeAddonsArgs,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super("valkey:eks:NodeAddons", name, {}, opts);
    const child = { parent: this };
    const common = { clusterName, resolveConflictsOnCreate: "OVERWRITE", resolveConflictsOnUpdate: "OVERWRITE" };

    const agent = new aws.eks.Addon(
      `${name}-pod-identity`,
      { ...common, addonName: "eks-pod-identity-agent", addonVersion: versions.podIdentityAgent },
      child,
    );
    new aws.eks.Addon(
      `${name}-coredns`,
      {
        ...common,
        addonName: "coredns",
        addonVersion: versions.coredns,
        configurationValues: JSON.stringify({ ...COREDNS, replicaCount: dnsReplicas }),
      },
      child,
    );

    const role = new aws.iam.Role(
      `${name}-ebs-csi`,
      {
        name: `${clusterName}-ebs-csi`,
        assumeRolePolicy: pulumi.jsonStringify(clusterArn(clusterName, this).apply(podIdentityTrust)),
      },
      child,
    );
    const policy = new aws.iam.RolePolicyAttachment(
      `${name}-ebs-csi`,
      { role: role.name, policyArn: "arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy" },
      child,
    );
    new aws.eks.Addon(
      `${name}-ebs-csi`,
      {
        ...common,
        addonName: "aws-ebs-csi-driver",
        addonVersion: versions.ebsCsi,
        podIdentityAssociations: [{ serviceAccount: "ebs-csi-controller-sa", roleArn: role.arn }],
        configurationValues: JSON.stringify(EBS_CSI),
      },
      { ...child, dependsOn: [agent, policy] },
    );
    this.registerOutputs({});
  }
}
