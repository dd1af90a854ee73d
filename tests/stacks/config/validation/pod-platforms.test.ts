import { describe, expect, it } from "vitest";
import { describePlan } from "../../../../stacks/plan/describe";
import { planStack } from "../../../../stacks/plan/stack-plan";
import { nameOf, thrownProblems } from "../../../support/problems";
import { expectReviewed } from "../../../support/reviewed";
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

  it("says the parts of the memory limit, what a deployment survives, where everything is lost, and where backups go", async () => {
    const told = (deployments: Raw, platform = kubernetes): readonly string[] =>
      describePlan(planStack("s", parsed(platform, deployments)));
    const ofBackups = (line: string): boolean => line.includes("backups");
    const elsewhere = { bucket: "ours", region: "eu-central-1" };
    const backups = {
      a: cluster({ backup: {} }),
      b: cluster({ backup: elsewhere }),
      c: cluster({ backup: { prefix: "former/c" } }),
      d: cluster(),
    };
    const plans = {
      "a cluster": told({ d: cluster() }),
      "a cluster that saves nothing": told({ d: cluster({ settings: { save: "" } }) }),
      replication: told({ d: single({ replicas: 2 }) }),
      "a single server": told({ d: single({ pods: { zones: ["a"] } }) }),
      "a platform with a bucket": told(backups, eks({ backups: {} })).filter(ofBackups),
      "a platform without a bucket": told({ d: cluster() }, eks()).filter(ofBackups),
    };
    await expectReviewed("stacks/plans", "Plans of stacks with pods, in words.", plans);
    expect(told({ d: cluster() }, { type: "host", zones: ["a", "b", "c"] }).join()).not.toContain("maxmemory");
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

it("has a part of the bucket for each deployment, also if the name of one part begins with the name of the other one", () => {
  const backup = (prefix: string): Raw => cluster({ backup: { prefix } });
  expect(parsed(eks({ backups: {} }), { a: backup("x"), b: backup("x-y") })).toBeDefined();
});
