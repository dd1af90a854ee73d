import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allocatableOn, UNTUNED } from "../../../../platforms/eks/pools/tuning";
import { machineType } from "../../../../platforms/eks/offers/machine-types";
import { pricesOf } from "../../../../platforms/eks/offers/prices";
import type { SystemPlan } from "../../../../platforms/eks/scale/system-machines";
import {
  planSystem,
  systemPodAddresses,
  systemProblems,
  dnsReplicas,
  karpenterSize,
} from "../../../../platforms/eks/scale/system-machines";
import { forAll } from "../../../support/properties";

const prices = pricesOf("us-west-2");
const planned = (startedMachines: number, machines = 2, instanceType?: string): SystemPlan =>
  planSystem({ machines, instanceType }, startedMachines, prices);

describe("Karpenter", () => {
  it("keeps what it had on small stacks, and more than twice what was measured with 2,370 NodeClaims", () => {
    expect(karpenterSize(11)).toEqual({ cpuMilli: 500, memoryMiB: 1024 });
    expect(karpenterSize(275)).toEqual({ cpuMilli: 1000, memoryMiB: 1024 });
    expect(karpenterSize(2370).memoryMiB).toBeGreaterThan(2 * 994);
    expect(karpenterSize(2750)).toEqual({ cpuMilli: 3000, memoryMiB: 4096 });
  });

  it("never gets less for more machines", () => {
    forAll([fc.nat(5000), fc.nat(5000)], (few, more) => {
      const [small, large] = [karpenterSize(few), karpenterSize(few + more)];
      expect(large.memoryMiB).toBeGreaterThanOrEqual(small.memoryMiB);
      expect(large.cpuMilli).toBeGreaterThanOrEqual(small.cpuMilli);
      expect(dnsReplicas(few + more)).toBeGreaterThanOrEqual(dnsReplicas(few));
    });
  });
});

describe("CoreDNS", () => {
  it("has two replicas at least, and one for 16 machines, as EKS scales it", () => {
    expect([0, 32, 33, 2750].map(dnsReplicas)).toEqual([2, 2, 3, 172]);
  });
});

describe("system machines", () => {
  it("are of the smallest type that has room", () => {
    expect(planned(11)).toMatchObject({ instanceType: "m7g.large", machines: 2, dnsReplicas: 2 });
    expect(planned(2750).instanceType).toBe("m7g.4xlarge");
    // With more machines each has fewer replicas of CoreDNS, and one Karpenter still needs three CPUs.
    expect(planned(2750, 10).instanceType).toBe("m7g.2xlarge");
    // What is refused is in plan.test.ts.
    for (const plan of [planned(2750), planned(2750, 2, "m7g.8xlarge"), planned(11, 2, "m7g.large")])
      expect(systemProblems(plan, prices)).toEqual([]);
  });

  it("hold one Karpenter, their share of CoreDNS and the volume controllers at any size, or say that nothing does", () => {
    forAll([fc.nat(20_000), fc.integer({ min: 2, max: 10 })], (started, machines) => {
      const plan = planned(started, machines);
      const [refusal] = systemProblems(plan, prices);
      if (refusal !== undefined) {
        expect(refusal.message).toMatch(/; more system\.machines$/);
        return;
      }
      const type = machineType(plan.instanceType);
      if (type === undefined) throw new Error("no such type");
      const room = allocatableOn(type, UNTUNED);
      const replicas = Math.ceil(plan.dnsReplicas / machines);
      expect(plan.karpenter.cpuMilli + replicas * 100 + 2 * 60).toBeLessThanOrEqual(room.cpuMilli);
      expect(plan.karpenter.memoryMiB + replicas * 70 + 2 * 240).toBeLessThanOrEqual(room.memoryMiB);
      expect(replicas + 3).toBeLessThanOrEqual(Math.min(room.pods, type.vcpus < 30 ? 110 : 250));
      expect(systemPodAddresses(plan)).toBeGreaterThan(replicas + 3);
    });
  });
});
