/**
 * Every guardrail. The `description` of a rule, in the file from which it is imported, says what the rule refuses.
 * `index.ts` makes all of them mandatory.
 */
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
