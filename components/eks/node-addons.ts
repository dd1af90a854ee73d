/** Add-ons that need machines: CoreDNS, the Pod Identity agent, and the EBS CSI driver. */
import * as aws from "./aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { clusterArn } from "./aws/account";
import { podIdentityTrust } from "./aws/trust-policies";
import type { EksVersions } from "./aws/versions";

export interface NodeAddonsArgs {
  readonly clusterName: string;
  readonly versions: EksVersions;
  /** Number of replicas of CoreDNS. */
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

const SYSTEM_ONLY = [{ key: "CriticalAddonsOnly", operator: "Exists" }];

/**
 * Configuration of CoreDNS. Its replicas are spread over the zones. If a zone has no machine, its replica runs in a
 * different zone, which is better than no replica.
 */
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

/** Configuration of the EBS CSI driver. Its default storage class is off: the stack creates its own storage classes. */
const EBS_CSI = { defaultStorageClass: { enabled: false }, controller: { tolerations: SYSTEM_ONLY } };
