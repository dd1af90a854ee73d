import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CONTROL_PLANE_TIERS,
  describeControlPlane,
  planControlPlane,
} from "../../../../platforms/eks/offers/control-plane";
import { planPolicyPeers, policyNotes } from "../../../../platforms/eks/scale/policy-peers";
import { forAll } from "../../../support/properties";

describe("the control plane's tier", () => {
  it("is standard for small stacks, and the least that suffices for large ones", () => {
    const tierOf = (machines: number, pods = machines): string => planControlPlane(machines, pods, undefined).tier;
    expect([13, 277, 300].map((machines) => tierOf(machines))).toEqual(["standard", "standard", "standard"]);
    // Many pods on few machines.
    expect(tierOf(300, 4000)).toBe("tier-xl");
    const tiers = [301, 2125, 2126, 2752, 4250, 4251].map((machines) => tierOf(machines).replace("tier-", ""));
    expect(tiers.join(" ")).toBe("xl xl 2xl 2xl 2xl 4xl");
    // 30,000 pods in two minutes.
    expect(tierOf(1000, 26_000)).toBe("tier-2xl");
    expect(tierOf(100_000)).toBe("tier-8xl");
  });

  it("never falls when machines or pods are added", () => {
    const rank = (machines: number, pods: number): number =>
      CONTROL_PLANE_TIERS.indexOf(planControlPlane(machines, pods, undefined).tier);
    forAll([fc.nat(10_000), fc.nat(50_000), fc.nat(5000), fc.nat(5000)], (machines, pods, more, others) => {
      expect(rank(machines + more, pods + others)).toBeGreaterThanOrEqual(rank(machines, pods));
    });
  });

  it("is the configured one, and the plan says which is suggested", () => {
    const plan = planControlPlane(2752, 2750, "tier-xl");
    expect(plan).toMatchObject({ tier: "tier-xl", suggested: "tier-2xl", pods: 2750 + 4 * 2752 });
    expect(describeControlPlane(plan)).toBe(
      "tier-xl (1,700 requests at once, 167 pods a second), for 2,752 machines and 13,758 pods, which may need 2,202 requests at once and 115 pods a second; suggested tier: tier-2xl",
    );
    expect(describeControlPlane(planControlPlane(13, 11, undefined))).toBe("standard, for 13 machines and 63 pods");
    expect(describeControlPlane(planControlPlane(2752, 2750, "standard"))).toMatch(
      /^standard, for .*; suggested tier: tier-2xl$/,
    );
  });
});

describe("network policies", () => {
  it("name the network's block where their peers are more than 1,000 pods, and say where it is not known", () => {
    expect(planPolicyPeers(1000, "10.0.0.0/16").cidr).toBeNull();
    expect(planPolicyPeers(1001, "10.0.0.0/16").cidr).toBe("10.0.0.0/16");
    expect(planPolicyPeers(1001, undefined).cidr).toBeNull();
    expect(policyNotes(planPolicyPeers(1001, undefined))).toEqual([
      expect.stringMatching(/^network policies select all 1,001/),
    ]);
    expect(policyNotes(planPolicyPeers(1000, undefined))).toEqual([]);
    expect(policyNotes(planPolicyPeers(1001, "10.0.0.0/16"))).toEqual([]);
  });
});
