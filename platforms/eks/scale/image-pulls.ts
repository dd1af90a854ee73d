/** Docker Hub's images that many machines pull: number of pulls, and a cache in ECR that pulls each once. */
import { type Problem, problem } from "../../../lib/errors";
import { formatCount } from "../../../lib/units";
import type { MachineGroup } from "../pools/machine-plan";
import type { PodGroup } from "../pools/pod-groups";

/** From one IPv4 address in 6 hours without an account ("Docker Hub pull usage and limits"); 200 with a free one. */
export const ANONYMOUS_PULLS = 100;

interface CacheRegistry {
  /** Host of the registry, such as `123456789012.dkr.ecr.us-west-2.amazonaws.com`. */
  readonly host: string;
  readonly prefix: string;
}

export interface ImageCacheArgs {
  /** Name of the secret in Secrets Manager that holds the credentials for Docker Hub. */
  readonly credentialsSecret: string;
}

/** Images of Docker Hub in a plan. */
export interface ImagePlan {
  /** Images of Docker Hub, sorted; empty if no machine pulls from Docker Hub. */
  readonly hubImages: readonly string[];
  /**
   * Number of pulls from the IP address with the most pulls. Each machine is expected to pull each of its images once.
   */
  readonly pulls: number;
  /** Cache that the stack creates; null without a cache. */
  readonly cache: ImageCacheArgs | null;
}

const HUB_HOSTS: readonly string[] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/** Repository and tag at Docker Hub, such as `library/redis:8.2.1`; undefined for images of other registries. */
export function hubRepository(image: string): string | undefined {
  const [first = "", ...rest] = image.split("/");
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  if (isHost && !HUB_HOSTS.includes(first)) return undefined;
  const name = isHost ? rest.join("/") : image;
  return name.includes("/") ? name : `library/${name}`;
}

export function cachedImage(image: string, { host, prefix }: CacheRegistry): string {
  const repository = hubRepository(image);
  return repository === undefined ? image : `${host}/${prefix}/${repository}`;
}

export function cacheRepository(image: string, prefix: string): string {
  return `${prefix}/${(hubRepository(image) ?? image).replace(/[:@].*$/, "")}`;
}

/** ECR allows at most 30 characters, and no double hyphens. */
export function cachePrefix(clusterName: string): string {
  const name = clusterName.replaceAll(/-+/g, "-").slice(0, 26).replace(/-$/, "");
  return `${name}-hub`;
}

/** @param addresses `one` if all machines leave the network through one address, `perZone` for one in each zone */
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

/** Command that creates the secret from a file, so that its content is not on the command line. */
export function secretCommand(name: string, region: string): string {
  return `aws secretsmanager create-secret --region ${region} --name ${name} --secret-string file://docker-hub.json`;
}

export const SECRET_CONTENT = '{"username": "NAME", "accessToken": "TOKEN"}';

export function imageProblems({ hubImages, pulls, cache }: ImagePlan): Problem[] {
  if (cache !== null || pulls < ANONYMOUS_PULLS) return [];
  const rule = `without an account, Docker Hub allows ${ANONYMOUS_PULLS} pulls in 6 hours from one IP address`;
  const message =
    `is missing, so machines would pull ${hubImages.join(", ")} ${formatCount(pulls)} times from one IP address, but ` +
    `${rule}; expected imageCache: {}, which creates a cache in ECR, or images from a different registry`;
  return [problem("no-image-cache", "imageCache", message)];
}
