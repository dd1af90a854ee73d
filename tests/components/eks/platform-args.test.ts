/** Arguments of platforms and pools on EKS: defaults. */
import { describe, expect, it } from "vitest";
import { completePlatform } from "../../../components/eks/platform-args";
import { declare, EKS_ZONES, platformArgs, VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";

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
