/** A stack with a cache of Docker Hub's images: what its pods are of, and what the cache is made of. */
import { beforeAll, describe, expect, it } from "vitest";
import { MEMTIER_IMAGE, NODE_IMAGE } from "../../../platforms/kubernetes/default-images";
import { BadInput, problemText } from "../../../lib/errors";
import { parseConfig } from "../../../stacks/config/parse";
import { STACKS_DIRECTORY } from "../../../stacks/config/sections/paths";
import type { StackConfig } from "../../../stacks/config/schema/stack";
import { readStackFile } from "../../../stacks/config/sections/stack-file";
import { program } from "../../../stacks/program/program";
import { ACCOUNT_ID, accountCalls, awsOutputs } from "../../support/pulumi/eks";
import { verifiedTopology } from "../../support/benchmarks/records";
import { type MockCalls, type MockOutputs, type ProgramRun, runProgram } from "../../support/pulumi/pulumi-mocks";
import { configOf, MACHINE } from "../../support/stack-config";

/** The stack `topologies` with everything that has an image of its own. */
const config = (...assignments: readonly string[]): StackConfig =>
  configOf(
    "topologies",
    "platform.clusterName=dev",
    "platform.metrics={}",
    "deployments.replication={mode: replication, replicas: 3, sentinel: {}}",
    "deployments.redis={engine: redis, mode: cluster, primaries: 3, replicasPerPrimary: 0}",
    "workloads.paced={loadGenerator: open-loop, rate: 1000}",
    ...assignments,
  );
const topology = verifiedTopology("cluster", 3);
const outputs: MockOutputs = (type, name, inputs) => {
  if (type.endsWith(":Measurement")) return { results: null, report: null };
  if (type.endsWith(":DeploymentVerification")) return { topology, verifiedAt: "2026-07-20T10:00:00.000Z" };
  return awsOutputs(type, name, inputs);
};
const run = (stack: StackConfig, calls: MockCalls = accountCalls): Promise<ProgramRun> =>
  runProgram(() => program("topologies", stack), outputs, calls, "topologies");

/** Every value of a key `image`, and of images by name. */
function imagesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(imagesIn);
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value as Record<string, unknown>).flatMap(([key, each]) => {
    if (key === "configuration") return [];
    if (typeof each === "string") return key === "image" ? [each] : [];
    return key === "images" ? Object.values(each as Record<string, string>) : imagesIn(each);
  });
}

const imagesOf = ({ resources }: ProgramRun): string[] => [
  ...new Set(resources.flatMap(({ inputs }) => imagesIn(inputs))),
];

describe("a stack with a cache of Docker Hub's images", () => {
  let cached: ProgramRun;
  let plain: ProgramRun;
  beforeAll(async () => {
    await import("../../../stacks/program/platforms/eks.js");
    cached = await run(config("platform.imageCache={}"));
    plain = await run(config());
  }, 120_000);

  it("has no pod of an image at Docker Hub, in any object or Job, and keeps those of other registries", () => {
    const host = `${ACCOUNT_ID}.dkr.ecr.us-west-2.amazonaws.com/dev-hub`;
    expect(imagesOf(plain).filter((image) => image.startsWith("docker.io/")).length).toBeGreaterThan(2);
    // Load generators have their defaults without being told.
    expect(imagesOf(cached).sort()).toEqual(
      [...imagesOf(plain), NODE_IMAGE, MEMTIER_IMAGE].map((image) => image.replace(/^docker\.io/, host)).sort(),
    );
    const others = imagesOf(cached).filter((image) => !image.startsWith(host));
    expect(others.length).toBeGreaterThan(0);
    for (const image of others) expect(image).toMatch(/^ghcr\.io\/oliver006\/redis_exporter:/);
  });

  it("makes a rule with the secret, and the repositories that the pods pull from, deleted with their images", () => {
    expect(cached.one("aws:ecr/pullThroughCacheRule:PullThroughCacheRule").inputs).toEqual({
      ecrRepositoryPrefix: "dev-hub",
      upstreamRegistryUrl: "registry-1.docker.io",
      credentialArn: expect.stringMatching(/:secret:ecr-pullthroughcache\/docker-hub-/) as string,
    });
    const repositories = cached.ofType("aws:ecr/repository:Repository");
    expect(repositories.map(({ inputs }) => inputs["name"]).sort()).toEqual([
      "dev-hub/library/haproxy",
      "dev-hub/library/node",
      "dev-hub/library/redis",
      "dev-hub/valkey/valkey",
    ]);
    for (const { inputs } of repositories) expect(inputs).toMatchObject({ forceDelete: true });
    expect(plain.resources.filter(({ type }) => type.startsWith("aws:ecr/"))).toEqual([]);
  });

  it("lets Karpenter's machines import images, and lets no pod start before", () => {
    const policy = cached.one("aws:iam/rolePolicy:RolePolicy", "dev-image-cache");
    expect(policy.inputs["role"]).toBe("dev-karpenter-node");
    expect(JSON.parse(String(policy.inputs["policy"]))).toMatchObject({
      Statement: [
        {
          Action: "ecr:BatchImportUpstreamImage",
          Resource: `arn:aws:ecr:us-west-2:${ACCOUNT_ID}:repository/dev-hub/*`,
        },
      ],
    });
    const namespace = cached.one("kubernetes:core/v1:Namespace");
    for (const each of [policy, ...cached.ofType("aws:ecr/repository:Repository")])
      expect(cached.isDeletedBefore(namespace, each), each.name).toBe(true);
    expect(cached.isDeletedBefore(policy, cached.one("aws:iam/role:Role", "dev-karpenter-node"))).toBe(true);
  });

  it("is refused at a preview without the secret, with the command that makes it", async () => {
    const calls = {
      ...accountCalls,
      "aws:secretsmanager/getSecret:getSecret": () => {
        throw new Error("couldn't find resource");
      },
    };
    const refused = await run(config("platform.imageCache={}"), calls).catch((error: unknown) => error);
    if (!(refused instanceof BadInput)) throw new Error("it is not refused", { cause: refused });
    expect(refused.problems.map(problemText)).toEqual([
      expect.stringMatching(
        /^valkey:platform\.imageCache\.credentialsSecret: the secret ecr-pullthroughcache\/docker-hub of us-west-2 cannot be read: .*: aws secretsmanager create-secret --region us-west-2 --name ecr-pullthroughcache\/docker-hub --secret-string file:\/\/docker-hub\.json$/,
      ),
    ]);
  }, 60_000);
});

describe("the stack billion", () => {
  const billion = (...assignments: readonly string[]): StackConfig => configOf("billion", ...assignments);

  it("has a cache, and is refused without one or with a secret that ECR cannot read", () => {
    expect(billion().platform).toMatchObject({ imageCache: { credentialsSecret: "ecr-pullthroughcache/docker-hub" } });
    const { platform: { imageCache, ...platform } = {}, ...raw } = readStackFile(STACKS_DIRECTORY, "billion") as {
      readonly platform?: { readonly imageCache?: unknown };
    };
    expect(imageCache).toBeDefined();
    expect(() => parseConfig("stack billion", { ...raw, platform }, MACHINE)).toThrow(
      /valkey:platform\.imageCache: is missing, so machines would pull docker\.io\/valkey\/valkey:9\.1\.2 2,750 times/,
    );
    expect(() => billion("platform.imageCache.credentialsSecret=docker-hub")).toThrow(
      /valkey:platform\.imageCache\.credentialsSecret.*expected a name such as ecr-pullthroughcache\/docker-hub/,
    );
    expect(billion("platform.image=quay.io/valkey/valkey:9.1.2").platform).toBeDefined();
  });
});
