/** Names of the custom resources of the provider `valkey`, and their types in Pulumi. */

export const RESOURCE_NAMES = [
  "Password",
  "ClusterCheck",
  "HostServers",
  "Access",
  "PasswordRetirement",
  "ImageCheck",
  "ScaleIn",
  "Settings",
  "TlsCheck",
  "Volumes",
  "Rollout",
  "Maxmemory",
  "ExternalAddresses",
  "Formation",
  "TopologyCheck",
  "Measurement",
  "VolumeDeletionWait",
] as const;
export type ResourceName = (typeof RESOURCE_NAMES)[number];

/** The name of the provider, with which the types of its resources begin. */
export const PROVIDER = "valkey";

/** The type of a resource, such as `valkey:index:Formation`. */
export function resourceType(name: ResourceName): string {
  return `${PROVIDER}:index:${name}`;
}

/** The name of the resource that a URN is of. @throws Error when it is none of this provider's */
export function resourceNameOf(urn: string): ResourceName {
  const type = urn.split("::")[2]?.split("$").at(-1) ?? "";
  const name = RESOURCE_NAMES.find((each) => resourceType(each) === type);
  if (name === undefined) throw new Error(`the provider ${PROVIDER} has no resource of the type ${type}`);
  return name;
}
