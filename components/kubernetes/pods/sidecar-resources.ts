/** What is beside a server, and the quality-of-service class Guaranteed, which the kubelet wants of a pod before it gives whole CPUs to a container. Pure. */
import type { Input } from "@pulumi/pulumi";
import { parseQuantity } from "../../../platforms/kubernetes/quantity";
import type { Resources } from "../arguments";

/** Of a container that prepares something before the server starts. */
export const INIT_RESOURCES = {
  requests: { cpu: "10m", memory: "16Mi" },
  limits: { cpu: "200m", memory: "64Mi" },
} as const satisfies Resources;

/** What the exporter needs at most; it reads figures once per scrape. */
export const EXPORTER_RESOURCES = {
  requests: { cpu: "20m", memory: "32Mi" },
  limits: { cpu: "100m", memory: "64Mi" },
} as const satisfies Resources;

/** Of a Sentinel, and of a proxy in front of the primary. */
export const FAILOVER_RESOURCES = {
  requests: { cpu: "50m", memory: "64Mi" },
  limits: { cpu: "500m", memory: "128Mi" },
} as const satisfies Resources;

/** Proxies in front of a primary that Sentinels watch. */
export const PROXY_COUNT = 2;

/** Whether a pod of this container alone is of the class. */
export function isGuaranteed({ requests, limits }: Resources): boolean {
  return same(requests.cpu, limits.cpu) && same(requests.memory, limits.memory);
}

/**
 * The class is the pod's, and every container has a say in it, those too that have ended before the server starts: beside a
 * server that asks for its limits they ask for theirs.
 */
export function sidecarResources(server: Resources, { requests, limits }: Resources): Resources {
  return { requests: isGuaranteed(server) ? limits : requests, limits };
}

/** What is not known yet is equal to itself only. */
function same(a: Input<string>, b: Input<string>): boolean {
  return a === b || (typeof a === "string" && typeof b === "string" && parseQuantity(a) === parseQuantity(b));
}
