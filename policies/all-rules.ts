/** Every guardrail. The `description` of a rule says what it refuses. */
import { explicitExpiry, noSpotServers, pinnedImages, encryptedStorage } from "./machines";
import { hardZoneSpread, restrictedPods } from "./pods";
import { type Rule, hasInputs, listAt, propertyAt, textAt } from "./rule";
import { noPlainSecrets } from "./secrets";
import { pinnedAddons, pinnedCharts } from "./versions";
import { isOpenToTheWorld } from "../lib/cidr";

/** Tag of a cluster whose configuration says that the world may reach its API server (`openToTheWorld: true`). */
const OPEN_TAG = "valkey-measured/open-to-the-world";

const noOpenEndpoint: Rule = {
  name: "no-open-api-endpoint",
  description: "Only named address blocks reach the API server. The default of AWS lets every address reach it.",
  check: (resource) => {
    const { type, props } = resource;
    if (type === "aws:eks/cluster:Cluster") {
      return accessViolations(propertyAt(props, "vpcConfig"), propertyAt(props, "tags"));
    }
    if (type !== "eks:index:Cluster" || !hasInputs(resource)) return [];
    return accessViolations(props, propertyAt(props, "clusterTags"));
  },
};

function accessViolations(access: unknown, tags: unknown): string[] {
  if (textAt(access, "endpointPublicAccess") === "false" || textAt(tags, OPEN_TAG) === "true") return [];
  const cidrs = listAt(access, "publicAccessCidrs").map(String);
  if (cidrs.length === 0) {
    return [
      "publicAccessCidrs is missing, so every address can reach the API server; " +
        "name address blocks, or set endpointPublicAccess: false",
    ];
  }
  return isOpenToTheWorld(cidrs) ? [`${cidrs.join(", ")} open the API server to the world`] : [];
}

const BLOCKS = ["blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"] as const;

const noPublicBuckets: Rule = {
  name: "no-public-buckets",
  description: "A public access block of a bucket blocks every kind of public access.",
  check: ({ type, props }) => {
    if (type !== "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock") return [];
    const open = BLOCKS.filter((block) => textAt(props, block) !== "true");
    return open.length === 0 ? [] : [`${open.join(", ")} ${open.length === 1 ? "is" : "are"} not true`];
  },
};

export const RULES: readonly Rule[] = [
  noSpotServers,
  explicitExpiry,
  pinnedImages,
  pinnedCharts,
  pinnedAddons,
  encryptedStorage,
  hardZoneSpread,
  noOpenEndpoint,
  noPublicBuckets,
  noPlainSecrets,
  restrictedPods,
];
