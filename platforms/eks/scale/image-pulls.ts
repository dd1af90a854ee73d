/** Images of Docker Hub on many machines: how often they are pulled, and the cache in ECR that pulls them once. Pure. */
import { formatCount } from "../../../lib/units";
import type { MachineGroup } from "../pools/machine-plan";
import type { PodGroup } from "../pools/pod-groups";
import type { Problem } from "../pools/problem";

/**
 * "Docker Hub pull usage and limits": pulls in 6 hours from one IPv4 address without an account. A free account has
 * 200, however many addresses it uses.
 */
export const ANONYMOUS_PULLS = 100;

/** A registry that caches Docker Hub's images. */
export interface CacheRegistry {
  /** Such as `123456789012.dkr.ecr.us-west-2.amazonaws.com`. */
  readonly host: string;
  /** Before the name of each repository. */
  readonly prefix: string;
}

export interface ImageCacheArgs {
  /** Name of the secret with the account at Docker Hub. */
  readonly credentialsSecret: string;
}

/** Images of Docker Hub in a plan. */
export interface ImagePlan {
  /** Sorted; empty where no machine pulls from Docker Hub. */
  readonly hubImages: readonly string[];
  /** One for each image on each machine, from the address with the most. */
  readonly pulls: number;
  /** The cache that the stack makes; null without. */
  readonly cache: ImageCacheArgs | null;
}

const HUB_HOSTS: readonly string[] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/** Repository and tag at Docker Hub, such as `library/redis:8.2.1`; undefined for images of another registry. */
export function hubRepository(image: string): string | undefined {
  const [first = "", ...rest] = image.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  if (isHost && !HUB_HOSTS.includes(first)) return undefined;
  const name = isHost ? rest.join("/") : image;
  return name.includes("/") ? name : `library/${name}`;
}

/** The image under its name in the cache. Images of other registries stay as they are. */
export function cachedImage(image: string, { host, prefix }: CacheRegistry): string {
  const repository = hubRepository(image);
  return repository === undefined ? image : `${host}/${prefix}/${repository}`;
}

/** Repository in the cache, without tag and digest. */
export function cacheRepository(image: string, prefix: string): string {
  return `${prefix}/${(hubRepository(image) ?? image).replace(/[:@].*$/, "")}`;
}

/** A cluster's own prefix, as ECR allows it: 30 characters at most, single hyphens. */
export function cachePrefix(clusterName: string): string {
  const name = clusterName.replaceAll(/-+/g, "-").slice(0, 26).replace(/-$/, "");
  return `${name}-hub`;
}

/**
 * @param machines as planned for the groups
 * @param addresses whether machines leave the network by one address, or each zone by its own
 */
export function planImages(
  groups: readonly PodGroup[],
  machines: readonly MachineGroup[],
  addresses: "one" | "perZone",
  cache: ImageCacheArgs | undefined,
): ImagePlan {
  const byZone = new Map<string, number>();
  const hubImages = new Set<string>();
  for (const pool of new Set(groups.map((group) => group.pool))) {
    const counts = machinesByZone(machines.filter((each) => each.pool === pool));
    for (const [image, pods] of podsByImage(groups.filter((group) => group.pool === pool))) {
      hubImages.add(image);
      for (const [zone, count] of pods)
        byZone.set(zone, (byZone.get(zone) ?? 0) + Math.min(count, counts.get(zone) ?? 0));
    }
  }
  const pulls = [...byZone.values()];
  return {
    hubImages: [...hubImages].sort(),
    pulls: addresses === "one" ? pulls.reduce((sum, each) => sum + each, 0) : Math.max(0, ...pulls),
    cache: cache ?? null,
  };
}

function machinesByZone(machines: readonly MachineGroup[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { zone, count } of machines) counts.set(zone, (counts.get(zone) ?? 0) + count);
  return counts;
}

/** Pods by image of Docker Hub, then by zone. */
function podsByImage(groups: readonly PodGroup[]): Map<string, Map<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const { images = [], pods } of groups) {
    const hub = images.filter((image) => hubRepository(image) !== undefined);
    if (hub.length === 0) continue;
    const zones = new Map<string, number>();
    for (const { zone } of pods) zones.set(zone, (zones.get(zone) ?? 0) + 1);
    for (const image of new Set(hub)) {
      const sum = found.get(image) ?? new Map<string, number>();
      for (const [zone, count] of zones) sum.set(zone, (sum.get(zone) ?? 0) + count);
      found.set(image, sum);
    }
  }
  return found;
}

/** The command that makes the secret of a file, which keeps it off the command line. */
export function secretCommand(name: string, region: string): string {
  return `aws secretsmanager create-secret --region ${region} --name ${name} --secret-string file://docker-hub.json`;
}

/** Contents of that file. */
export const SECRET_CONTENT = '{"username": "NAME", "accessToken": "TOKEN"}';

export function imageProblems({ hubImages, pulls, cache }: ImagePlan): Problem[] {
  if (cache !== null || pulls < ANONYMOUS_PULLS) return [];
  const rule = `Docker Hub lets an address without an account pull ${ANONYMOUS_PULLS} times in 6 hours`;
  const message =
    `is missing, and machines would pull ${hubImages.join(", ")} ${formatCount(pulls)} times through one address: ` +
    `${rule}; expected imageCache: {}, which makes a cache in ECR, or images of another registry`;
  return [{ path: ["imageCache"], message }];
}
