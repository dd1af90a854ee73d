/** The machines on which Karpenter, CoreDNS and the volume controller run. */
import * as aws from "./aws/aws-sdk";
import * as pulumi from "@pulumi/pulumi";
import { createNodeRole } from "./aws/node-role";
import { architecturesOf } from "../../platforms/eks/pools/architectures";
import type { Architecture } from "../../platforms/eks/offers/machine-types";
import { SYSTEM_ROOT_GIB } from "../../platforms/eks/plan";
import type { SystemPlan } from "../../platforms/eks/scale/system-machines";
import type { EksVersions } from "./aws/versions";

export interface SystemNodesArgs extends Pick<SystemPlan, "instanceType" | "machines"> {
  readonly clusterName: string;
  /** IDs of subnets, one for each zone. The node group spreads its machines over all these subnets. */
  readonly subnetIds: pulumi.Input<string[]>;
  readonly versions: EksVersions;
  readonly tags: Readonly<Record<string, string>>;
}

/** Taint of the system machines. Karpenter's charts, CoreDNS and the CSI controller tolerate it by default. */
export const SYSTEM_TAINT = { key: "CriticalAddonsOnly", value: "true", effect: "NO_SCHEDULE" } as const;

/** Type of Amazon's image for the system machines, by architecture. */
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
