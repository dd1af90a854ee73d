/** The handlers of all custom resources. Each is loaded when a resource of its name is first met. */
import type { Values } from "./engine-values";
import type { ResourceHandler } from "./resource-handler";
import type { ResourceName } from "./resource-names";

export type AnyHandler = ResourceHandler<Values, Values>;

const LOADERS: Readonly<Record<ResourceName, () => Promise<{ readonly handler: unknown }>>> = {
  Password: () => import("./handlers/password.js"),
  ClusterCheck: () => import("./handlers/cluster-check.js"),
  HostServers: () => import("./handlers/host-servers.js"),
  Access: () => import("./handlers/access.js"),
  PasswordRetirement: () => import("./handlers/password-retirement.js"),
  ImageCheck: () => import("./handlers/image-check.js"),
  ScaleIn: () => import("./handlers/scale-in.js"),
  TlsCheck: () => import("./handlers/tls-check.js"),
  Volumes: () => import("./handlers/volumes.js"),
  Settings: () => import("./handlers/settings.js"),
  Maxmemory: () => import("./handlers/maxmemory.js"),
  Rollout: () => import("./handlers/rollout.js"),
  ExternalAddresses: () => import("./handlers/external-addresses.js"),
  Formation: () => import("./handlers/formation.js"),
  TopologyCheck: () => import("./handlers/topology-check.js"),
  Measurement: () => import("./handlers/measurement.js"),
  VolumeDeletionWait: () => import("./handlers/volume-deletion-wait.js"),
};

/** The handler of a resource. The engine gives it only what the resource of that name was declared with. */
export async function loadHandler(name: ResourceName): Promise<AnyHandler> {
  return (await LOADERS[name]()).handler as AnyHandler;
}
