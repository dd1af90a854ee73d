/**
 * Resources of sidecars. A kubelet assigns whole CPUs only to containers in pods of the quality-of-service class
 * Guaranteed, so sidecars must not take a pod out of this class. Pure.
 */
import type { Input } from "@pulumi/pulumi";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import type { Resources } from "../arguments";

/** Resources of an init container. */
export const INIT_RESOURCES = {
  requests: { cpu: "10m", memory: "16Mi" },
  limits: { cpu: "200m", memory: "64Mi" },
} as const satisfies Resources;

/** Resources of the exporter, which reads metrics once per scrape. */
export const EXPORTER_RESOURCES = {
  requests: { cpu: "20m", memory: "32Mi" },
  limits: { cpu: "100m", memory: "64Mi" },
} as const satisfies Resources;

/** Resources of a Sentinel, and of a proxy in front of the primary. */
export const FAILOVER_RESOURCES = {
  requests: { cpu: "50m", memory: "64Mi" },
  limits: { cpu: "500m", memory: "128Mi" },
} as const satisfies Resources;

/** Resources of the controller, for deployments of up to 200 nodes. */
export const CONTROLLER_RESOURCES = {
  requests: { cpu: "20m", memory: "96Mi" },
  limits: { cpu: "500m", memory: "192Mi" },
} as const satisfies Resources;

/**
 * Resources of the pod that writes the backup. Its memory grows with the number of shards, because the pod keeps some
 * data of each shard in memory until the bucket has it. The memory does not grow with the size of the data set.
 */
export function archiveResources(shards: number): Resources {
  return {
    requests: { cpu: "100m", memory: `${192 + 16 * shards}Mi` },
    limits: { cpu: "1", memory: `${448 + 64 * shards}Mi` },
  };
}

/** Resources of the program that restores an archive. Its memory grows with the number of increments, not of keys. */
export const RESTORER_RESOURCES = {
  requests: { cpu: "500m", memory: "256Mi" },
  limits: { cpu: "2", memory: "2Gi" },
} as const satisfies Resources;

/** Number of proxies in front of a primary with Sentinels. */
export const PROXY_COUNT = 2;

/** Whether a pod that has only the given container has the quality-of-service class Guaranteed. */
export function isGuaranteed({ requests, limits }: Resources): boolean {
  return same(requests.cpu, limits.cpu) && same(requests.memory, limits.memory);
}

/**
 * Resources of a sidecar or init container. If the server's requests equal its limits, the sidecar also gets requests
 * that equal its limits. The quality-of-service class depends on all containers of a pod, including init containers.
 */
export function sidecarResources(server: Resources, { requests, limits }: Resources): Resources {
  return { requests: isGuaranteed(server) ? limits : requests, limits };
}

/** Whether two quantities are equal. An Input whose value is not known yet equals only itself. */
function same(a: Input<string>, b: Input<string>): boolean {
  return a === b || (typeof a === "string" && typeof b === "string" && parseQuantity(a) === parseQuantity(b));
}
