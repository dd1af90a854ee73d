/** Every guardrail. The `description` of a rule says what it refuses. */
import { noOpenEndpoint, noPublicBuckets } from "./access";
import { explicitExpiry, noSpotServers, pinnedImages, encryptedStorage } from "./machines";
import { hardZoneSpread, restrictedPods } from "./pods";
import type { Rule } from "./rule";
import { noPlainSecrets } from "./secrets";
import { pinnedAddons, pinnedCharts } from "./versions";

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
