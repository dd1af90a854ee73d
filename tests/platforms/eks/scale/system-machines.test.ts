import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allocatableOn } from "../../../../platforms/eks/pools/allocatable";
import { machineType } from "../../../../platforms/eks/offers/machine-types";
import { UNTUNED } from "../../../../platforms/eks/pools/tuning";
import { pricesOf } from "../../../../platforms/eks/offers/prices";
import { dnsReplicas, karpenterSize } from "../../../../platforms/eks/scale/controller-size";
import type { SystemPlan } from "../../../../platforms/eks/scale/system-machines";
import { planSystem, systemPodAddresses, systemProblems } from "../../../../platforms/eks/scale/system-machines";

const prices = pricesOf("us-west-2");
const planned = (startedMachines: number, machines = 2, instanceType?: string): SystemPlan =>
  planSystem({ machines, instanceType }, startedMachines, prices);
const said = (plan: SystemPlan): string[] =>
  systemProblems(plan, prices).map(({ path, message }) => `${path.join(".")}: ${message}`);

describe("Karpenter", () => {
  it("keeps what it had on small stacks, and more than twice what was measured with 2,370 NodeClaims", () => {
    expect(karpenterSize(11)).toEqual({ cpuMilli: 500, memoryMiB: 1024 });
    expect(karpenterSize(275)).toEqual({ cpuMilli: 1000, memoryMiB: 1024 });
    expect(karpenterSize(2370).memoryMiB).toBeGreaterThan(2 * 994);
    expect(karpenterSize(2750)).toEqual({ cpuMilli: 3000, memoryMiB: 4096 });
  });

  it("never gets less for more machines", () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.nat(5000), (few, more) => {
        const [small, large] = [karpenterSize(few), karpenterSize(few + more)];
        expect(large.memoryMiB).toBeGreaterThanOrEqual(small.memoryMiB);
        expect(large.cpuMilli).toBeGreaterThanOrEqual(small.cpuMilli);
        expect(dnsReplicas(few + more)).toBeGreaterThanOrEqual(dnsReplicas(few));
      }),
    );
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
    expect(said(planned(2750))).toEqual([]);
  });

  it("hold one Karpenter, their share of CoreDNS and the volume controllers at any size, or say that nothing does", () => {
    fc.assert(
      fc.property(fc.nat(20_000), fc.integer({ min: 2, max: 10 }), (started, machines) => {
        const plan = planned(started, machines);
        if (said(plan).length > 0) {
          expect(said(plan)[0]).toMatch(/; more system\.machines$/);
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
      }),
    );
  });

  it("of a type that is too small are refused with the least that suffices", () => {
    expect(said(planned(2750, 2, "m7g.large"))).toEqual([
      "system.instanceType: m7g.large has 1750m CPU and 6724 MiB for 25 pods, but Karpenter with its share of 172 CoreDNS replicas needs 11720m CPU and 10596 MiB for 89 pods at 2,750 machines; expected at least m7g.4xlarge, or more system.machines",
    ]);
    expect(said(planned(2750, 2, "m7g.8xlarge"))).toEqual([]);
    expect(said(planned(11, 2, "m7g.large"))).toEqual([]);
    // Enough CPUs, too little memory.
    expect(said(planned(900, 10, "c8g.large"))).toEqual([expect.stringMatching(/needs 1720m CPU and 2948 MiB/)]);
  });

  it("are two at least, of a type that is known", () => {
    expect(said(planned(11, 1))).toEqual([
      "system.machines: expected at least 2, not 1: Karpenter has two replicas, and each needs a machine",
    ]);
    expect(said(planned(11, 2, "t1.micro"))).toEqual([
      expect.stringMatching(/^system\.instanceType: t1\.micro is not in the table of machine types/),
    ]);
  });
});
