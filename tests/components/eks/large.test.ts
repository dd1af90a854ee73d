/** A platform for thousands of machines: what grows with their number. */
import { beforeAll, describe, expect, it } from "vitest";
import { planEks } from "../../../platforms/eks/plan";
import { POOL_DEFAULTS } from "../../../platforms/eks/pools/pools";
import { declare, loadGroup, platformArgs, VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";
import { requestProblems } from "../../support/aws/shapes";
import type { ProgramRun } from "../../support/pulumi/pulumi-mocks";

const largeArgs = {
  ...VALKEY_ON_EKS_PLAN,
  pools: { clients: POOL_DEFAULTS.clients },
  groups: [loadGroup(2750, { cpuMilli: 2000 })],
};
const large = planEks(largeArgs);
let program: ProgramRun;
beforeAll(async () => {
  const { EksPlatform } = await import("../../../components/eks/platform.js");
  program = await declare(() => new EksPlatform("valkey", platformArgs(largeArgs)));
}, 120_000);

describe("a platform for 2,750 machines", () => {
  it("gives Karpenter and CoreDNS what the plan says, on system machines that have room", () => {
    expect(large.problems).toEqual([]);
    expect(program.one("kubernetes:helm.sh/v4:Chart", "valkey-karpenter").inputs["values"]).toMatchObject({
      replicas: 2,
      controller: { resources: { requests: { cpu: "3000m", memory: "4096Mi" }, limits: { memory: "4096Mi" } } },
    });
    const coredns = program.one("aws:eks/addon:Addon", "valkey-coredns").inputs["configurationValues"];
    expect(JSON.parse(String(coredns))).toMatchObject({ replicaCount: 172 });
    expect(program.one("aws:eks/nodeGroup:NodeGroup").inputs).toMatchObject({
      instanceTypes: ["m7g.4xlarge"],
      scalingConfig: { desiredSize: 2 },
    });
  });

  it("asks for the planned tier of the control plane, in the resource that the component makes, and for nothing else", async () => {
    const transforms = program.one("eks:index:Cluster").options.transforms ?? [];
    const transformed = (type: string): Promise<unknown> =>
      Promise.all(
        transforms.map(async (transform) =>
          transform({
            type,
            name: "valkey-eksCluster",
            custom: true,
            props: { name: "valkey" },
            opts: { protect: true },
          }),
        ),
      );
    expect(large.controlPlane.tier).toBe("tier-2xl");
    expect(await transformed("aws:eks/cluster:Cluster")).toEqual([
      { props: { name: "valkey", controlPlaneScalingConfig: { tier: "tier-2xl" } }, opts: { protect: true } },
    ]);
    expect(await transformed("aws:eks/addon:Addon")).toEqual([undefined]);
    // AWS' model of the call knows the member and the value.
    const request = { name: "valkey", controlPlaneScalingConfig: { tier: large.controlPlane.tier } };
    expect(requestProblems("eks.CreateCluster", request).filter((problem) => /scaling/i.test(problem))).toEqual([]);
  });

  it("asks for no tier where standard suffices", async () => {
    const { EksPlatform } = await import("../../../components/eks/platform.js");
    const small = await declare(() => new EksPlatform("valkey", platformArgs()));
    expect(small.one("eks:index:Cluster").options.transforms ?? []).toEqual([]);
  });
});
