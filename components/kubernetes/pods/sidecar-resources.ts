/** A kubelet assigns whole CPUs only to pods of the class Guaranteed, so sidecars must not take a pod out of it. */
import type { Input } from "@pulumi/pulumi";
import { parseQuantity } from "../../../platforms/kubernetes/api/quantity";
import type { Resources } from "../arguments";

export const INIT_RESOURCES = {
  requests: { cpu: "10m", memory: "16Mi" },
  limits: { cpu: "200m", memory: "64Mi" },
} as const satisfies Resources;

export const EXPORTER_RESOURCES = {
  requests: { cpu: "20m", memory: "32Mi" },
  limits: { cpu: "100m", memory: "64Mi" },
} as const satisfies Resources;

export const FAILOVER_RESOURCES = {
  requests: { cpu: "50m", memory: "64Mi" },
  limits: { cpu: "500m", memory: "128Mi" },
} as const satisfies Resources;

/** Resources of the controller, for deployments of up to 200 nodes. */
export const CONTROLLER_RESOURCES = {
  requests: { cpu: "20m", memory: "96Mi" },
  limits: { cpu: "500m", memory: "192Mi" },
} as const satisfies Resources;

/** Its memory grows with the shards, some of whose data it holds until the bucket has it, not with the data set. */
export function archiveResources(shards: number): Resources {
  return {
    requests: { cpu: "100m", memory: `${192 + 16 * shards}Mi` },
    limits: { cpu: "1", memory: `${448 + 64 * shards}Mi` },
  };
}

/** Its memory grows with the number of increments, not of keys. */
export const RESTORER_RESOURCES = {
  requests: { cpu: "500m", memory: "256Mi" },
  limits: { cpu: "2", memory: "2Gi" },
} as const satisfies Resources;

export const PROXY_COUNT = 2;

export function isGuaranteed({ requests, limits }: Resources): boolean {
  return same(requests.cpu, limits.cpu) && same(requests.memory, limits.memory);
}

/** The class depends on all containers of a pod, including init containers: equal requests and limits stay equal. */
export function sidecarResources(server: Resources, { requests, limits }: Resources): Resources {
  return { requests: isGuaranteed(server) ? limits : requests, limits };
}

/** An Input whose value is not known yet equals only itself. */
function same(a: Input<string>, b: Input<string>): boolean {
  return a === b || (typeof a === "string" && typeof b === "string" && parseQuantity(a) === parseQuantity(b));
}
