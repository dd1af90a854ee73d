/** The kinds of custom resources of the provider `valkey`: their names, their types in Pulumi and their handlers. */
import type { Values } from "../protocol/engine-values";
import type { ResourceHandler } from "../protocol/resource-handler";

export type AnyHandler = ResourceHandler<Values, Values>;

/** Loaded when first needed. `operations/provider/resources.ts` declares the resources for Pulumi programs. */
const HANDLERS = {
  Password: () => import("../handlers/password-generation.js"),
  ClusterCheck: () => import("../handlers/cluster-check.js"),
  HostServers: () => import("../handlers/host-servers.js"),
  Access: () => import("../handlers/deployment/access.js"),
  Preparation: () => import("../handlers/deployment/preparation.js"),
  Rollout: () => import("../handlers/deployment/rollout.js"),
  Formation: () => import("../handlers/deployment/formation.js"),
  ArchiveCheck: () => import("../handlers/restoring/archive-check.js"),
  Restore: () => import("../handlers/restoring/restore.js"),
  HostRestore: () => import("../handlers/restoring/host-restore.js"),
  DeploymentVerification: () => import("../handlers/deployment/deployment-verification.js"),
  Measurement: () => import("../handlers/measurement.js"),
  PodCredentials: () => import("../handlers/pod-credentials.js"),
  VolumeDeletionWait: () => import("../handlers/volume-deletion-wait.js"),
} satisfies Readonly<Record<string, () => Promise<{ readonly handler: unknown }>>>;

export type ResourceName = keyof typeof HANDLERS;
export const RESOURCE_NAMES = Object.keys(HANDLERS) as readonly ResourceName[];

/** The types of its resources begin with it. */
export const PROVIDER = "valkey";

/** The type of a resource, such as `valkey:index:Formation`. */
export function resourceType(name: ResourceName): string {
  return `${PROVIDER}:index:${name}`;
}

/** @throws Error when this provider does not have that resource */
export function resourceNameOf(urn: string): ResourceName {
  const type = urn.split("::")[2]?.split("$").at(-1) ?? "";
  const name = RESOURCE_NAMES.find((each) => resourceType(each) === type);
  if (name === undefined) throw new Error(`the provider ${PROVIDER} has no resource of the type ${type}`);
  return name;
}

/** Pulumi calls the handler only with inputs of that resource, so the cast is safe. */
export async function loadHandler(name: ResourceName): Promise<AnyHandler> {
  return (await HANDLERS[name]()).handler as unknown as AnyHandler;
}
