/** Rule: everything stored is encrypted. */
import type { Rule } from "./rule";
import { propertyAt, hasProperty, hasInputs, listAt, textAt } from "./rule";

export const encryptedStorage: Rule = {
  name: "encrypted-storage",
  description: "Volumes, machines' disks, queues and secrets in etcd are encrypted.",
  check: (resource) => {
    const { type, props } = resource;
    switch (type) {
      case "kubernetes:storage.k8s.io/v1:StorageClass":
        return textAt(props, "provisioner") === "ebs.csi.aws.com" && textAt(props, "parameters", "encrypted") !== "true"
          ? ['parameters.encrypted is not "true"']
          : [];
      case "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass":
        return inTemplate(listAt(props, "spec", "blockDeviceMappings"));
      case "aws:ec2/launchTemplate:LaunchTemplate":
        return inTemplate(listAt(props, "blockDeviceMappings"));
      case "aws:eks/nodeGroup:NodeGroup":
        return hasProperty(props, "launchTemplate")
          ? []
          : ["launchTemplate is missing, so the image decides whether disks are encrypted"];
      case "aws:ebs/volume:Volume":
        return textAt(props, "encrypted") === "true" ? [] : ["encrypted is not true"];
      case "aws:sqs/queue:Queue":
        return textAt(props, "sqsManagedSseEnabled") === "true" || hasProperty(props, "kmsMasterKeyId")
          ? []
          : ["neither sqsManagedSseEnabled nor a key is set"];
      case "aws:eks/cluster:Cluster":
        return hasProperty(props, "encryptionConfig")
          ? []
          : ["encryptionConfig is missing, so secrets are plain text in etcd"];
      case "eks:index:Cluster":
        return hasProperty(props, "encryptionConfigKeyArn") || !hasInputs(resource)
          ? []
          : ["encryptionConfigKeyArn is missing, so secrets are plain text in etcd"];
      default:
        return [];
    }
  },
};

function inTemplate(disks: readonly unknown[]): string[] {
  if (disks.length === 0) return ["blockDeviceMappings is missing, so the image decides whether disks are encrypted"];
  return disks
    .filter((disk) => propertyAt(disk, "ebs") !== undefined && textAt(disk, "ebs", "encrypted") !== "true")
    .map((disk) => `the disk ${textAt(disk, "deviceName") ?? "without a name"} is not encrypted`);
}
