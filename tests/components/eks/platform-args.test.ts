/** Arguments of platforms and pools on EKS: defaults, and everything wrong at once. */
import { beforeAll, describe, expect, it } from "vitest";
import { completePlatform } from "../../../components/eks/platform-args";
import { EKS_VERSIONS } from "../../../components/eks/aws/versions";
import { declare, EKS_ZONES, platformArgs, VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";
import type { ProgramRun } from "../../support/pulumi/pulumi-mocks";

const WITH_LIMITS = { servers: { vcpuLimit: 24 }, clients: { vcpuLimit: 8 } };

describe("the arguments of a platform", () => {
  it("need a region, zones and limits, and the rest has defaults", () => {
    const { plan, pools, publicAccess } = completePlatform("mine", {
      region: "us-west-2",
      zones: EKS_ZONES,
      pools: WITH_LIMITS,
    });
    expect(plan.network).toMatchObject({ cidr: "10.0.0.0/16" });
    expect(plan.system).toMatchObject({ machines: 2, startedMachines: 24 / 2 + 8 / 4 });
    expect(pools.servers).toMatchObject({ instanceTypes: ["r7g.large"], rootVolumeGiB: 20, vcpuLimit: 24 });
    expect(publicAccess).toEqual({ cidrs: [], openToTheWorld: false });
  });

  it("give a pool the vCPUs of what runs on it, and a quarter or one machine more", () => {
    const { pools } = completePlatform("mine", platformArgs());
    expect(pools).toMatchObject({ servers: { vcpuLimit: 25 }, clients: { vcpuLimit: 8 } });
  });

  it("are refused with everything that is wrong with them", () => {
    const wrong = (): unknown =>
      completePlatform("mine", {
        region: "us-west-2",
        zones: ["us-west-2a"],
        network: {},
        existingNetwork: { vpcId: "vpc-1", privateSubnetIds: [] },
        pools: { servers: { instanceTypes: ["r7gn.large"] }, networkOptimized: { capacity: "spot", vcpuLimit: 8 } },
        publicAccess: { cidrs: ["0.0.0.0/0"] },
      });
    expect(wrong).toThrow(
      expect.objectContaining({
        name: "BadInput",
        subject: "EksPlatform mine",
        problems: [
          expect.stringMatching(/^zones: expected at least 2 zones/),
          expect.stringMatching(/^pools\.servers\.instanceTypes\.0: .*r7gn/),
          expect.stringMatching(/^pools\.networkOptimized\.capacity: AWS may take spot machines away from servers/),
          expect.stringMatching(/^pools\.servers\.vcpuLimit: is missing; expected the highest number of vCPUs/),
          expect.stringMatching(/^publicAccess\.cidrs: 0\.0\.0\.0\/0 also needs openToTheWorld/),
          expect.stringMatching(/^network: is set together with existingNetwork/),
          expect.stringMatching(/^existingNetwork\.privateSubnetIds: 0 subnets for 1 zones/),
        ],
      }),
    );
  });

  it("may be known to the caller, whose plan then is the platform's", async () => {
    const { EksPlatform } = await import("../../../components/eks/platform.js");
    const { planEks } = await import("../../../platforms/eks/plan.js");
    let plan: unknown;
    await declare(() => {
      const platform = new EksPlatform("valkey", platformArgs());
      plan = platform.plan;
      return platform;
    });
    expect(plan).toEqual(planEks(VALKEY_ON_EKS_PLAN));
  }, 60_000);
});

describe("pools on a cluster that exists", () => {
  const args = { clusterName: "production", nodeRole: "production-node", zones: EKS_ZONES };
  let program: ProgramRun;
  beforeAll(async () => {
    const { KarpenterPools } = await import("../../../components/eks/karpenter/karpenter-pools.js");
    program = await declare(() => new KarpenterPools("mine", { ...args, pools: WITH_LIMITS }));
  }, 60_000);

  it("are a pool and a class each, in the subnets and groups that are tagged for it", () => {
    const classes = program.ofType("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass");
    expect(classes.map(({ name }) => name)).toEqual(["mine-servers-class", "mine-clients-class"]);
    const discovery = [{ tags: { "karpenter.sh/discovery": "production" } }];
    for (const { inputs } of classes)
      expect(inputs["spec"]).toMatchObject({
        role: "production-node",
        amiSelectorTerms: [{ alias: `al2023@v${EKS_VERSIONS.machineImage}` }],
        subnetSelectorTerms: discovery,
        securityGroupSelectorTerms: discovery,
      });
    expect(program.one("kubernetes:karpenter.sh/v1:NodePool", "mine-servers").inputs["spec"]).toMatchObject({
      limits: { cpu: "24" },
    });
  });

  it("may be in subnets and groups that are named", async () => {
    const { KarpenterPools } = await import("../../../components/eks/karpenter/karpenter-pools.js");
    const named = { subnetIds: ["subnet-1"], securityGroupIds: ["sg-1"] };
    const pools = await declare(() => new KarpenterPools("mine", { ...args, ...named, pools: WITH_LIMITS }));
    for (const { inputs } of pools.ofType("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"))
      expect(inputs["spec"]).toMatchObject({
        subnetSelectorTerms: [{ id: "subnet-1" }],
        securityGroupSelectorTerms: [{ id: "sg-1" }],
      });
  });

  it("are refused with everything that is wrong with them", async () => {
    const { KarpenterPools } = await import("../../../components/eks/karpenter/karpenter-pools.js");
    const pools = { servers: { instanceTypes: ["r7g.large", "r7i.large"] }, clients: {} };
    const problems = [
      expect.stringMatching(/^pools\.servers\.instanceTypes: .*one architecture/),
      expect.stringMatching(/^pools\.servers\.vcpuLimit: is missing/),
      expect.stringMatching(/^pools\.clients\.vcpuLimit: is missing/),
    ];
    await expect(declare(() => new KarpenterPools("mine", { ...args, pools }))).rejects.toMatchObject({ problems });
  });
});
