import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Fault, planFault } from "../../../faults/plan/fault";
import { type FaultPlan, type DeploymentOutline, describeFaultPlan } from "../../../faults/plan/fault-plan";
import { expectReviewed } from "../../support/reviewed";
import { forAll } from "../../support/properties";

function cluster(primaries: number, zones: number, changes: Partial<DeploymentOutline> = {}): DeploymentOutline {
  const nodes = Array.from({ length: primaries * 2 }, (_, i) => ({
    name: `n-${i}`,
    zone: `z-${(i < primaries ? i : i - primaries + 1) % zones}`,
  }));
  return {
    mode: "cluster",
    shape: { primaries, replicasPerPrimary: 1 },
    shards: Array.from({ length: primaries }, (_, i) => ({ primary: `n-${i}`, replicas: [`n-${i + primaries}`] })),
    zoneOf: new Map(nodes.map(({ name, zone }) => [name, zone])),
    machineOf: new Map(nodes.map(({ name }) => [name, "here"])),
    sentinelZoneOf: new Map(),
    rediscoversPeers: false,
    hasAutomaticFailover: true,
    persistent: true,
    ...changes,
  };
}

const planned = (fault: Fault, outline: DeploymentOutline): FaultPlan => {
  const plan = planFault(fault, outline);
  if (typeof plan === "string") throw new Error(plan);
  return plan;
};
/** Planned steps with their warnings, or the reason why nothing is done. */
const described = (fault: Fault, changes: Partial<DeploymentOutline> = {}, primaries = 3): unknown => {
  const plan = planFault(fault, cluster(primaries, 3, changes));
  return typeof plan === "string" ? `not planned: ${plan}` : describeFaultPlan(plan);
};

describe("the plan of a fault", () => {
  it("kills the requested share of the primaries, and warns where no majority is left", () => {
    forAll([fc.integer({ min: 3, max: 60 }), fc.double({ min: 0.01, max: 1, noNaN: true })], (primaries, share) => {
      const plan = planned({ kind: "kill-primaries", share }, cluster(primaries, 3));
      const wanted = Math.max(1, Math.round(share * primaries));
      expect(plan.victims).toHaveLength(wanted);
      const majority = primaries - wanted > primaries / 2;
      expect(plan.warnings.some((warning) => warning.includes("no majority"))).toBe(!majority);
      expect(plan.assist.length > 0).toBe(!majority);
    });
  });

  it("assists after the loss of 15 of 30 primaries, with one replica for each, and not after the loss of 14", () => {
    expect(planned({ kind: "kill-primaries", share: 14 / 30 }, cluster(30, 3)).assist).toEqual([]);
    const { assist } = planned({ kind: "kill-primaries", share: 0.5 }, cluster(30, 3));
    expect(assist).toEqual([{ do: "take-over", nodes: Array.from({ length: 15 }, (_, i) => `n-${i + 30}`) }]);
  });

  it("strikes the named zone, or the zone with the most primaries, and is told with its warnings or with why it is not possible", async () => {
    const unsaved = { persistent: false };
    const alone = { mode: "replication" as const, hasAutomaticFailover: false, ...unsaved };
    await expectReviewed("faults/plans", "Plans of faults, in words.", {
      "the zone with the most primaries": described({ kind: "kill-zone" }, {}, 4),
      "the named zone": described({ kind: "cut-zone", zone: "z-1", seconds: 1 }),
      "an unknown zone": described({ kind: "kill-zone", zone: "z-9" }),
      "one machine": described({ kind: "kill-machine" }),
      "a full disk where nothing is stored": described({ kind: "full-disk", seconds: 1 }, unsaved),
      "the present shape": described({ kind: "scale", primaries: 3, replicasPerPrimary: 1 }),
      "primaries of replication": described({ kind: "kill-primaries", share: 0.5 }, { mode: "replication" }),
      "a primary whose replicas are not promoted": described({ kind: "kill-primary" }, alone),
      "all nodes, whose addresses change and whose data are not stored": described(
        { kind: "kill-all", newAddresses: true },
        unsaved,
      ),
      "two of three primaries": described({ kind: "kill-primaries", share: 0.67, restart: 5 }),
    });
  });
});
