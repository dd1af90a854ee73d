/** Rules for machines with data: on demand, with an explicit expiry, a pinned image, and encrypted volumes. */
import { type CheckedResource, type Rule, hasProperty, listAt, textAt, propertyAt, hasInputs } from "./rule";

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

const isNodePool = ({ type }: CheckedResource): boolean => /^kubernetes:karpenter\.sh\/v1(beta1)?:NodePool$/.test(type);
const isNodeClass = ({ type }: CheckedResource): boolean =>
  /^kubernetes:karpenter\.k8s\.aws\/v1(beta1)?:EC2NodeClass$/.test(type);

/** Its machines have no data. */
const CLIENTS = "clients";

export const noSpotServers: Rule = {
  name: "no-spot-servers",
  description: "Machines of servers are on demand. AWS takes spot machines away after a warning of two minutes.",
  check: (resource) => {
    if (resource.type === "aws:eks/nodeGroup:NodeGroup")
      return textAt(resource.props, "capacityType") === "SPOT"
        ? ["the node group has spot machines; set capacityType ON_DEMAND"]
        : [];
    if (!isNodePool(resource) || textAt(resource.props, "metadata", "name") === CLIENTS) return [];
    const capacity = listAt(resource.props, "spec", "template", "spec", "requirements").filter(
      (each) => textAt(each, "key") === "karpenter.sh/capacity-type",
    );
    // If a pool does not require a capacity type, Karpenter takes the cheapest one, which may be spot.
    const only =
      capacity.length > 0 &&
      capacity.every(
        (each) =>
          textAt(each, "operator") === "In" &&
          listAt(each, "values").every((value) => value === "on-demand" || value === "reserved"),
      );
    return only ? [] : ["the pool may have spot machines; require karpenter.sh/capacity-type In [on-demand]"];
  },
};

export const explicitExpiry: Rule = {
  name: "explicit-expiry",
  description:
    "A pool sets the expiry of its machines. By default, machines are replaced after 720 hours, regardless of budgets.",
  check: (resource) =>
    isNodePool(resource) && textAt(resource.props, "spec", "template", "spec", "expireAfter") === undefined
      ? ["expireAfter is missing; set Never, or a duration that you intend"]
      : [],
};

export const pinnedImages: Rule = {
  name: "pinned-machine-images",
  description: "Machines have a pinned image. @latest replaces all machines when AWS releases a newer image.",
  check: (resource) => {
    if (resource.type === "aws:eks/nodeGroup:NodeGroup")
      return !hasProperty(resource.props, "releaseVersion") && textAt(resource.props, "amiType") !== "CUSTOM"
        ? [
            "releaseVersion is missing, and no launch template pins the image; set releaseVersion, or set amiType CUSTOM if the template names an image",
          ]
        : [];
    if (!isNodeClass(resource)) return [];
    const terms = listAt(resource.props, "spec", "amiSelectorTerms");
    const loose = terms.filter(
      (term) => textAt(term, "id") === undefined && !/@(?!latest$).+$/.test(textAt(term, "alias") ?? ""),
    );
    return terms.length === 0
      ? ["amiSelectorTerms is missing; set an alias with a version, or an id"]
      : loose.map(
          (term) =>
            `${textAt(term, "alias") ?? JSON.stringify(term)} names no version; set an alias such as al2023@v20260714, or an id`,
        );
  },
};

function inTemplate(disks: readonly unknown[]): string[] {
  if (disks.length === 0) return ["blockDeviceMappings is missing, so the image decides whether disks are encrypted"];
  return disks
    .filter((disk) => propertyAt(disk, "ebs") !== undefined && textAt(disk, "ebs", "encrypted") !== "true")
    .map((disk) => `the disk ${textAt(disk, "deviceName") ?? "without a name"} is not encrypted`);
}
