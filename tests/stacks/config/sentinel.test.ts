import { describe, expect, it } from "vitest";
import { nameOf, thrownProblems } from "../../support/problems";
import { parseConfig } from "../../../stacks/config/parse";
import { describePlan } from "../../../stacks/plan/describe";
import { planStack } from "../../../stacks/plan/stack-plan";
import { hostPlans } from "../../../stacks/plan/benchmark-plans";
import type { HostConfig } from "../../../stacks/config/schema/platform";
import type { StackConfig } from "../../../stacks/config/schema/stack";

const MACHINE = { cores: 4, memoryBytes: 16 * 2 ** 30 };
const parse = (deployment: object, platform: object = { type: "host", zones: ["a", "b", "c"] }): StackConfig =>
  parseConfig(
    "stack x",
    { platform, deployments: { r: { mode: "replication", replicas: 2, ...deployment } } },
    MACHINE,
  );
describe("a deployment's Sentinels", () => {
  const plans = (config: StackConfig): unknown => hostPlans(config.platform as HostConfig, config)[0]?.sentinel;

  it("are three with a majority as quorum, unless they are given or turned off", () => {
    const standard = { count: 3, quorum: 2, downAfterMs: 5000, failoverTimeoutMs: 10_000 };
    for (const deployment of [{}, { sentinel: true }, { sentinel: {} }])
      expect(plans(parse(deployment))).toEqual(standard);
    expect(plans(parse({ sentinel: { count: 5, quorum: 2 } }))).toMatchObject({ count: 5, quorum: 2 });
    expect(plans(parse({ sentinel: false }))).toBeUndefined();
  });

  it.each<[string, object, object]>([
    ["in two zones", {}, { type: "host", zones: ["a", "b"] }],
    ["of another engine", { engine: "redis" }, { type: "kubernetes", zones: ["a", "b", "c"] }],
  ])("are none by default %s", (_what, deployment, platform) => {
    expect(plans(parse(deployment, platform))).toBeUndefined();
  });

  it("are told in the plan", () => {
    expect(describePlan(planStack("x", parse({ sentinel: {} }))).join("\n")).toContain(
      "3 Sentinels spread over the zones; failover when 2 of them get no reply from the primary for 5 s",
    );
  });

  it("are planned on EKS, with their proxies and what exports figures: beside the servers as far as there is room", () => {
    const servers = (deployment: object, cpu: string, platform: object = {}): number | undefined =>
      planStack(
        "x",
        parse(deployment, {
          type: "eks",
          resources: { requests: { cpu, memory: "12Gi" }, limits: { cpu: "2", memory: "16Gi" } },
          ...platform,
        }),
      )
        .eks?.machines.filter(({ pool }) => pool === "servers")
        .reduce((sum, { count }) => sum + count, 0);
    expect([servers({ sentinel: false }, "1"), servers({}, "1")]).toEqual([3, 3]);
    // 1,750m are left on an r7g.large: for a Sentinel, and not for one of the two proxies as well.
    expect([servers({ sentinel: false }, "1700m"), servers({}, "1700m")]).toEqual([3, 5]);
    expect(servers({ sentinel: false }, "1740m")).toBe(3);
    const resources = { requests: { cpu: "1740m", memory: "12Gi" }, limits: { cpu: "2", memory: "16Gi" } };
    const found = thrownProblems(() => parse({ sentinel: false }, { type: "eks", metrics: {}, resources }));
    expect(found.map(nameOf)).toEqual(["no-room platform.pools.servers.instanceTypes"]);
    expect(found[0]?.message).toContain("r requests 1760m CPU and 12320 MiB");
  });

  it("may be combined with TLS on Kubernetes", () => {
    const platform = { type: "kubernetes", zones: ["a", "b", "c"], tls: { secretName: "t" } };
    expect(thrownProblems(() => parse({ sentinel: {} }, platform))).toEqual([]);
  });
});
