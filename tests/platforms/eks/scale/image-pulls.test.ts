import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EksPlanArgs, planEks } from "../../../../platforms/eks/plan";
import { POOL_DEFAULTS } from "../../../../platforms/eks/pools/pools";
import { cachedImage, cachePrefix, cacheRepository, hubRepository } from "../../../../platforms/eks/scale/image-pulls";
import { requestProblems } from "../../../support/aws/shapes";
import { nameOf } from "../../../support/problems";
import { loadGroup, VALKEY_ON_EKS_PLAN } from "../../../support/pulumi/eks";

const VALKEY = "docker.io/valkey/valkey:9.1.2";

/** Machines with a pod each of these images, and others with these. */
function plan(
  count: number,
  images: readonly string[],
  changes: Partial<EksPlanArgs> = {},
): { readonly pulls: number; readonly problems: string[] } {
  const planned = planEks({
    ...VALKEY_ON_EKS_PLAN,
    pools: { clients: POOL_DEFAULTS.clients },
    groups: [loadGroup(count, { cpuMilli: 2000, images })],
    ...changes,
  });
  return {
    pulls: planned.images.pulls,
    problems: planned.problems.map(nameOf),
  };
}

describe("an image of Docker Hub", () => {
  it.each([
    [VALKEY, "valkey/valkey:9.1.2"],
    ["valkey/valkey:9.1.2", "valkey/valkey:9.1.2"],
    ["redis:8.2.1", "library/redis:8.2.1"],
    ["docker.io/redis:8.2.1", "library/redis:8.2.1"],
    ["docker.io/library/haproxy:3.2.26", "library/haproxy:3.2.26"],
    ["index.docker.io/valkey/valkey:9@sha256:0a", "valkey/valkey:9@sha256:0a"],
    ["registry-1.docker.io/valkey/valkey:9", "valkey/valkey:9"],
  ])("%s is %s there", (image, repository) => {
    expect(hubRepository(image)).toBe(repository);
    const registry = { host: "1.dkr.ecr.us-west-2.amazonaws.com", prefix: "a-hub" };
    expect(cachedImage(image, registry)).toBe(`1.dkr.ecr.us-west-2.amazonaws.com/a-hub/${repository}`);
    // A second time changes nothing.
    expect(cachedImage(cachedImage(image, registry), registry)).toBe(cachedImage(image, registry));
    expect(cacheRepository(image, "a-hub")).toBe(`a-hub/${repository.replace(/[:@].*/, "")}`);
  });

  it.each([
    "ghcr.io/oliver006/redis_exporter:v1.86.0",
    "public.ecr.aws/valkey/valkey:9",
    "localhost/valkey:9",
    "registry:5000/valkey/valkey:9",
  ])("is not %s", (image) => {
    expect(hubRepository(image)).toBeUndefined();
    expect(cachedImage(image, { host: "h", prefix: "p" })).toBe(image);
  });
});

describe("the prefix of a cluster's cache", () => {
  it("is one that ECR allows, for every name of a cluster", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]([a-z0-9-]{0,36}[a-z0-9])?$/), (name) => {
        const request = { ecrRepositoryPrefix: cachePrefix(name), upstreamRegistryUrl: "registry-1.docker.io" };
        expect(requestProblems("ecr.CreatePullThroughCacheRule", request)).toEqual([]);
      }),
      { examples: [["a".repeat(38)], [`${"a".repeat(25)}-${"b".repeat(12)}`], ["a--b"]] },
    );
  });
});

describe("a plan", () => {
  it("is refused from 100 anonymous pulls through one address on, with what to do", () => {
    expect(plan(99, [VALKEY])).toEqual({ pulls: 99, problems: [] });
    expect(plan(100, [VALKEY])).toEqual({ pulls: 100, problems: ["no-image-cache imageCache"] });
  });

  it("counts every image on every machine, once", () => {
    expect(plan(40, [VALKEY, VALKEY, "node:22", "ghcr.io/a/b:1"]).pulls).toBe(80);
    expect(plan(50, [VALKEY, "node:22"])).toEqual({ pulls: 100, problems: ["no-image-cache imageCache"] });
  });

  it("has an address for each zone with a NAT gateway in each", () => {
    const nat = (count: number): ReturnType<typeof plan> =>
      plan(count, [VALKEY], { network: { existing: false, cidr: "10.0.0.0/16", nat: "perZone" } });
    expect(nat(297)).toEqual({ pulls: 99, problems: [] });
    expect(nat(298).problems).toHaveLength(1);
  });

  it("is possible with a cache, or with another registry", () => {
    const imageCache = { credentialsSecret: "ecr-pullthroughcache/docker-hub" };
    expect(plan(2750, [VALKEY], { imageCache }).problems).toEqual([]);
    expect(plan(2750, ["quay.io/valkey/valkey:9"])).toEqual({ pulls: 0, problems: [] });
  });
});
