import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planEks } from "../../../platforms/eks/plan";
import { describeIssues } from "../../../lib/schema/problems";
import { eksPlatformSchema, zoneNames } from "../../../stacks/config/schema/eks";

type Raw = Record<string, unknown>;

function problems(raw: Raw): string[] {
  const input = { type: "eks", ...raw };
  const parsed = eksPlatformSchema.safeParse(input);
  return parsed.success
    ? []
    : describeIssues(eksPlatformSchema, input, parsed.error.issues, (path) => ["platform", ...path].join("."));
}

describe("the platform eks", () => {
  it('has the defaults of "Valkey on EKS": three zones of us-west-2, r7g.large, closed to the outside', () => {
    expect(eksPlatformSchema.parse({ type: "eks" })).toEqual({
      type: "eks",
      region: "us-west-2",
      zones: ["a", "b", "c"],
      network: { cidr: "10.0.0.0/16", nat: "one", flowLogs: false },
      cluster: {
        publicAccessCidrs: [],
        openToTheWorld: false,
        access: {},
        logRetentionInDays: 7,
        deletionProtection: false,
      },
      system: { machines: 2 },
      pools: {
        servers: {
          instanceTypes: ["r7g.large"],
          tuning: { interruptCpus: 0, staticCpus: false },
          capacity: "on-demand",
          rootVolumeGiB: 20,
        },
        clients: {
          instanceTypes: ["c7gn.xlarge"],
          tuning: { interruptCpus: 0, staticCpus: false },
          capacity: "on-demand",
          rootVolumeGiB: 20,
        },
      },
      namespace: "valkey",
      image: "docker.io/valkey/valkey:9.1.2",
      resources: { requests: { cpu: "1", memory: "12Gi" }, limits: { cpu: "2", memory: "16Gi" } },
      storage: { className: "gp3", size: "50Gi" },
      hostAntiAffinity: "preferred",
      allowDowntime: false,
      clients: { runners: 1, requests: { cpu: "1", memory: "1Gi" } },
      tags: {},
    });
  });

  it("is what a plan takes", () => {
    const config = eksPlatformSchema.parse({ type: "eks", pools: { networkOptimized: {} } });
    const network =
      "vpcId" in config.network ? ({ existing: true } as const) : ({ existing: false, ...config.network } as const);
    const plan = planEks({
      region: config.region,
      zones: zoneNames(config),
      network,
      system: config.system,
      pools: { ...config.pools },
      groups: [],
      ownKey: config.cluster.keyArn === undefined,
    });
    expect(plan.problems).toEqual([]);
    expect(plan.zones).toEqual(["us-west-2a", "us-west-2b", "us-west-2c"]);
  });

  it.each<[string, Raw, RegExp]>([
    ["an unknown key", { cluter: {} }, /^platform\.cluter: unknown key/],
    ["a region that is none", { region: "oregon" }, /^platform\.region.*expected a region of AWS such as us-west-2/],
    ["a region of China", { region: "cn-north-1" }, /not of China or GovCloud/],
    ["no gateway", { network: { nat: "none" } }, /^platform\.network\.nat is "none": .*one.*perZone/],
    [
      "an unknown key of a network",
      { network: { cidrr: "10.0.0.0/16" } },
      /^platform\.network\.cidrr: unknown key; did you mean cidr\? Allowed keys: kind, cidr, nat, flowLogs/,
    ],
    [
      "a network's block that is none",
      { network: { cidr: "10.0.0.0/40" } },
      /^platform\.network\.cidr is "10\.0\.0\.0\/40": expected an IPv4 block/,
    ],
    [
      "a network that exists without its subnets",
      { network: { kind: "existing", vpcId: "vpc-0123456789abcdef0" } },
      /^platform\.network\.privateSubnetIds is missing/,
    ],
    [
      "a network by a name",
      { network: { kind: "existing", vpcId: "main", privateSubnetIds: ["subnet-01234567", "subnet-11234567"] } },
      /^platform\.network\.vpcId.*expected the ID of a network such as vpc-/,
    ],
    ["one zone", { zones: ["a"] }, /^platform\.zones.*EKS needs subnets in at least 2 zones/],
    ["a zone twice", { zones: ["a", "a"] }, /^platform\.zones: a zone is named twice/],
    [
      "everyone",
      { cluster: { publicAccessCidrs: ["0.0.0.0/0"] } },
      /^platform\.cluster\.publicAccessCidrs: 0\.0\.0\.0\/0 also needs openToTheWorld: true/,
    ],
    [
      "two halves of everyone",
      { cluster: { publicAccessCidrs: ["0.0.0.0/1", "128.0.0.0/1"] } },
      /^platform\.cluster\.publicAccessCidrs: 0\.0\.0\.0\/1, 128\.0\.0\.0\/1 together also need openToTheWorld: true/,
    ],
    [
      "a block that is none",
      { cluster: { publicAccessCidrs: ["home"] } },
      /^platform\.cluster\.publicAccessCidrs\.0.*expected an IPv4 block/,
    ],
    [
      "a key that is none",
      { cluster: { keyArn: "alias/x" } },
      /^platform\.cluster\.keyArn.*expected an ARN such as arn:aws:kms/,
    ],
    [
      "a machine type that is none",
      { pools: { servers: { instanceTypes: ["large"] } } },
      /^platform\.pools\.servers\.instanceTypes\.0.*expected a machine type such as r7g\.large/,
    ],
    ["no machine type", { pools: { servers: { instanceTypes: [] } } }, /^platform\.pools\.servers\.instanceTypes/],
    [
      "servers on spot machines",
      { pools: { servers: { capacity: "spot" } } },
      /^platform\.pools\.servers\.capacity is "spot": AWS may take spot machines away from servers/,
    ],
    [
      "servers with more bandwidth on spot machines",
      { pools: { networkOptimized: { capacity: "spot" } } },
      /^platform\.pools\.networkOptimized\.capacity is "spot": AWS may take spot machines away from servers/,
    ],
    [
      "another capacity",
      { pools: { clients: { capacity: "reserved" } } },
      /^platform\.pools\.clients\.capacity is "reserved": expected one of on-demand, spot/,
    ],
    ["a pool that is none", { pools: { server: {} } }, /^platform\.pools\.server: unknown key; did you mean servers\?/],
    ["one system machine", { system: { machines: 1 } }, /^platform\.system\.machines.*two replicas/],
    ["a name that is too long", { clusterName: "x".repeat(39) }, /^platform\.clusterName.*at most 38/],
    [
      "too few subnets",
      {
        network: { kind: "existing", vpcId: "vpc-01234567", privateSubnetIds: ["subnet-01234567", "subnet-11234567"] },
      },
      /^platform\.network\.privateSubnetIds: 2 subnets for 3 zones; expected at least one subnet for each zone/,
    ],
    ["a network too large", { network: { cidr: "10.0.0.0/8" } }, /^platform\.network/],
    ["a storage class that is none", { storage: { className: "io2" } }, /^platform\.storage\.className.*gp3.*gp3-fast/],
    [
      "load generators in a zone that it has not",
      { clients: { zone: "f" } },
      /^platform\.clients\.zone: the platform has no zone f; zones of the platform: a, b, c/,
    ],
    [
      "a retention that CloudWatch has not",
      { cluster: { logRetentionInDays: 8 } },
      /^platform\.cluster\.logRetentionInDays/,
    ],
  ])("with %s says where and what would do", (_what, raw, message) => {
    const found = problems(raw);
    expect(
      found.some((problem) => message.test(problem)),
      found.join("\n"),
    ).toBe(true);
  });

  it("takes everyone when it is said twice", () => {
    expect(problems({ cluster: { publicAccessCidrs: ["0.0.0.0/0"], openToTheWorld: true } })).toEqual([]);
    expect(problems({ pools: { servers: { capacity: "on-demand" }, clients: { capacity: "spot" } } })).toEqual([]);
  });

  it("never fails in any other way, whatever it is given", () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom("region", "zones", "network", "cluster", "system", "pools", "tags", "x"),
          fc.jsonValue(),
        ),
        (raw) => {
          problems(raw);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("loads no SDK", () => {
    const script =
      'require("./stacks/config/schema/eks"); require("./platforms/eks/plan"); require("./platforms/eks/describe"); process.stdout.write(JSON.stringify(Object.keys(require.cache).filter((file) => file.includes("@pulumi"))));';
    expect(
      execFileSync(process.execPath, ["--import", "tsx", "-e", script], {
        cwd: resolve(__dirname, "../../.."),
        encoding: "utf8",
      }),
    ).toBe("[]");
  });
});
