/**
 * Every guardrail. The `description` of a rule, in the file from which it is imported, says what the rule refuses.
 * `index.ts` makes all of them mandatory.
 */
import { noOpenEndpoint, noPublicBuckets } from "./access";
import { explicitExpiry, noSpotServers, pinnedImages } from "./machines";
import { hardZoneSpread } from "./placement";
import { restrictedPods } from "./pod-security";
import type { Rule } from "./rule";
import { noPlainSecrets } from "./secrets";
import { encryptedStorage } from "./storage";
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
