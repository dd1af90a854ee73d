import { describe, expect, it } from "vitest";
import { describePlan } from "../../../../stacks/plan/describe";
import { planStack } from "../../../../stacks/plan/stack-plan";
import { nameOf, thrownProblems } from "../../../support/problems";
import type { StackConfig } from "../../../../stacks/config/schema/stack";
import { parseConfig } from "../../../../stacks/config/parse";

type Raw = Record<string, unknown>;
const MACHINE = { cores: 4, memoryBytes: 16 * 2 ** 30 };
const eks = (changes: Raw = {}): Raw => ({ type: "eks", ...changes });
const kubernetes: Raw = { type: "kubernetes", zones: ["a", "b", "c"] };
const cluster = (changes: Raw = {}): Raw => ({ mode: "cluster", primaries: 3, ...changes });
const single = (changes: Raw = {}): Raw => ({ mode: "replication", replicas: 0, ...changes });

const parsed = (platform: Raw, deployments: Raw, more: Raw = {}): StackConfig =>
  parseConfig("s", { platform, deployments, ...more }, MACHINE);
const problems = (platform: Raw, deployment: Raw, benchmark?: Raw): readonly string[] =>
  thrownProblems(() => parsed(platform, { d: deployment }, benchmark && { benchmark })).map(nameOf);

describe("what a platform can give", () => {
  const whole = { requests: { cpu: "2", memory: "8Gi" }, limits: { cpu: "2", memory: "8Gi" } };
  it.each<[string, Raw, Raw]>([
    [
      "as many io-threads as whole CPUs of its own",
      eks({ pools: { servers: { instanceTypes: ["r7g.2xlarge"], tuning: { staticCpus: true } } } }),
      cluster({ settings: { "io-threads": 2 }, pods: { resources: whole } }),
    ],
    [
      "more data than the limit carries, on purpose",
      kubernetes,
      cluster({ oversubscribed: true, settings: { maxmemory: "2gb" } }),
    ],
    ["too many on purpose", eks(), cluster({ oversubscribed: true, settings: { "io-threads": 9 } })],
    ["a cluster of Redis", kubernetes, cluster({ engine: "redis" })],
    [
      "Dragonfly with flags",
      kubernetes,
      single({
        engine: "dragonfly",
        pods: { zones: ["a"] },
        settings: { maxmemory: "512mb", conn_use_incoming_cpu: true },
      }),
    ],
    [
      "shards on one machine",
      eks(),
      cluster({
        replicasPerPrimary: 0,
        pods: {
          oneMachine: true,
          zones: ["a"],
          storage: { ephemeral: true },
          resources: { requests: { cpu: "500m", memory: "2Gi" }, limits: { cpu: "2", memory: "2Gi" } },
        },
      }),
    ],
    [
      "replication whose data is lost with its pods",
      eks(),
      single({ pods: { zones: ["a"], storage: { ephemeral: true } } }),
    ],
    [
      "a deployment that opts into more bandwidth",
      eks({ pools: { networkOptimized: {} } }),
      cluster({ pods: { pool: "networkOptimized" } }),
    ],
  ])("takes %s", (_what, platform, deployment) => {
    expect(problems(platform, deployment)).toEqual([]);
  });

  it("derives maxmemory from the memory limit, and says it with its parts", () => {
    const config = parsed(kubernetes, { d: cluster() });
    const { maxmemory = 0 } = config.deployments["d"]?.settings ?? {};
    expect(maxmemory / 2 ** 30).toBeGreaterThan(0.4);
    expect(maxmemory / 2 ** 30).toBeLessThan(0.8);
    expect(describePlan(planStack("s", config)).join("\n")).toMatch(
      /\n {2}maxmemory: \d+ MiB of the memory limit of 1\.0 GiB; the rest is for program .*, fragmentation/,
    );
    const host = parsed({ type: "host", zones: ["a", "b", "c"] }, { d: cluster() });
    expect(host.deployments["d"]?.settings.maxmemory).toBeUndefined();
  });

  it("says what a deployment survives, and warns where everything is lost", () => {
    const described = (deployment: Raw): string =>
      describePlan(planStack("s", parsed(kubernetes, { d: deployment }))).join("\n");
    const kept = described(cluster());
    expect(kept).toContain(
      "\n  if a zone fails: clients lose writes that no replica had received; clients cannot write for about 7 s",
    );
    expect(kept).not.toContain("everything is lost");
    expect(described(cluster({ settings: { save: "" } }))).toContain(
      "\nnote: d: everything is lost if all pods are killed at once",
    );
    expect(described({ mode: "replication", replicas: 2 })).not.toContain("everything is lost");
    expect(described(single({ pods: { zones: ["a"] } }))).toContain(
      "\nnote: d: everything is lost if the volume of a primary is deleted",
    );
  });

  it("derives the interval of pings for images whose servers know it, and for no others", () => {
    const derived = (changes: Raw): unknown =>
      parsed(kubernetes, { d: cluster(changes) }).deployments["d"]?.settings["cluster-ping-interval"];
    const of = (engine: string, image: string): unknown => derived({ engine, pods: { image } });
    expect([
      of("valkey", "docker.io/valkey/valkey:8.0.1"),
      of("valkey", "x/valkey:9.1.2@sha256:0"),
      of("redis", "x/redis:8.0.6"),
    ]).toEqual([300, 300, 300]);
    expect([of("redis", "x/redis:7.0.15"), of("valkey", "x/valkey:latest"), of("valkey", "host:5000/valkey")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("adjusts a load that shards cannot share evenly, if it may", () => {
    const load = { clients: 50, threads: 4 };
    expect(problems(eks(), cluster(), { ...load, adjustLoad: true })).toEqual([]);
  });
});

describe("the bucket of a platform on EKS", () => {
  const withBucket = (deployments: Raw): StackConfig => parsed(eks({ backups: {} }), deployments);

  it("takes the backups of the deployments without a bucket, and the plan names them", () => {
    const config = withBucket({
      a: cluster({ backup: {} }),
      b: cluster({ backup: { bucket: "ours", region: "eu-central-1" } }),
      c: cluster({ backup: { prefix: "former/c" } }),
      d: cluster(),
    });
    const lines = describePlan(planStack("s", config));
    expect(lines).toContain(
      "backups of a, c: a new S3 bucket with a name that AWS generates, encrypted by AES256; deleted objects are kept for " +
        "3 days; destroy keeps the bucket",
    );
    expect(lines.join("\n")).toMatch(/not counted: backups: storage in S3, and up to 172,800 PUT requests a day/);
    const without = parsed(eks(), { d: cluster() });
    expect(describePlan(planStack("s", without)).join("\n")).not.toContain("backups");
  });

  it("has a part for each deployment, also if the name of one part begins with the name of the other one", () => {
    const backup = (prefix: string): Raw => cluster({ backup: { prefix } });
    expect(withBucket({ a: backup("x"), b: backup("x-y") })).toBeDefined();
  });
});
