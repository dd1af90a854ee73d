/** The quality-of-service class Guaranteed: what the kubelet wants before it gives a container whole CPUs of its own. Pure. */
import type { Input } from "@pulumi/pulumi";
import { parseQuantity } from "../../benchmarks/kubernetes/quantity";
import type { Resources } from "./arguments";

/** Of a container that prepares something before the server starts. */
export const INIT_RESOURCES = { requests: { cpu: "10m", memory: "16Mi" }, limits: { cpu: "200m", memory: "64Mi" } } as const satisfies Resources;

/** Whether a pod of this container alone is of the class. */
export function isGuaranteed({ requests, limits }: Resources): boolean {
  return same(requests.cpu, limits.cpu) && same(requests.memory, limits.memory);
}

/**
 * The class is the pod's, and every container has a say in it, those too that have ended before the server starts: beside a
 * server that asks for its limits they ask for theirs.
 */
export function beside(server: Resources, { requests, limits }: Resources): Resources {
  return { requests: isGuaranteed(server) ? limits : requests, limits };
}

/** What is not known yet is equal to itself only. */
function same(a: Input<string>, b: Input<string>): boolean {
  return a === b || (typeof a === "string" && typeof b === "string" && parseQuantity(a) === parseQuantity(b));
}
