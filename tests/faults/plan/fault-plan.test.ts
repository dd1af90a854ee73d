import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Fault, planFault } from "../../../faults/plan/fault";
import { type FaultPlan, type DeploymentOutline, describeFaultPlan } from "../../../faults/plan/fault-plan";

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

describe("the plan of a fault", () => {
  it("kills the requested share of the primaries, and warns where no majority is left", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 60 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (primaries, share) => {
          const plan = planned({ kind: "kill-primaries", share }, cluster(primaries, 3));
          const wanted = Math.max(1, Math.round(share * primaries));
          expect(plan.victims).toHaveLength(wanted);
          const majority = primaries - wanted > primaries / 2;
          expect(plan.warnings.some((warning) => warning.includes("no majority"))).toBe(!majority);
          expect(plan.assist.length > 0).toBe(!majority);
        },
      ),
    );
  });

  it("assists after the loss of 15 of 30 primaries, with one replica for each, and not after the loss of 14", () => {
    expect(planned({ kind: "kill-primaries", share: 14 / 30 }, cluster(30, 3)).assist).toEqual([]);
    const { assist } = planned({ kind: "kill-primaries", share: 0.5 }, cluster(30, 3));
    expect(assist).toEqual([{ do: "take-over", nodes: Array.from({ length: 15 }, (_, i) => `n-${i + 30}`) }]);
  });

  it("strikes the named zone, or the zone with the most primaries", () => {
    expect(planned({ kind: "kill-zone" }, cluster(4, 3)).victims).toEqual(["n-0", "n-3", "n-6"]);
    expect(planned({ kind: "cut-zone", zone: "z-1", seconds: 1 }, cluster(3, 3)).victims).toEqual(["n-1", "n-3"]);
    expect(planFault({ kind: "kill-zone", zone: "z-9" }, cluster(3, 3))).toBe(
      "no node is in zone z-9; allowed: z-0, z-1, z-2",
    );
  });

  it("names the reason where a fault cannot be injected", () => {
    expect(planFault({ kind: "kill-machine" }, cluster(3, 3))).toMatch(/one machine/);
    expect(planFault({ kind: "full-disk", seconds: 1 }, cluster(3, 3, { persistent: false }))).toMatch(
      /needs appendonly/,
    );
    expect(planFault({ kind: "scale", primaries: 3, replicasPerPrimary: 1 }, cluster(3, 3))).toMatch(
      /already has this number of primaries and replicas/,
    );
    expect(planFault({ kind: "kill-primaries", share: 0.5 }, cluster(3, 3, { mode: "replication" }))).toMatch(
      /use kill-primary/,
    );
  });

  it("warns where no replica takes over and where no write is on disk", () => {
    const alone = cluster(3, 3, { mode: "replication", hasAutomaticFailover: false, persistent: false });
    expect(planned({ kind: "kill-primary" }, alone).warnings.join("\n")).toMatch(
      /no replica is promoted[^]*nothing is stored on disk/,
    );
    expect(
      planned({ kind: "kill-all", newAddresses: true }, cluster(3, 3, { persistent: false })).warnings.join("\n"),
    ).toMatch(/the nodes have to meet again[^]*every acknowledged write is lost/);
  });

  it("is described with one line per action and warning", () => {
    expect(describeFaultPlan(planned({ kind: "kill-primaries", share: 0.67, restart: 5 }, cluster(3, 3)))).toEqual([
      "SIGKILL n-0, n-1",
      "if the deployment does not recover: tell n-3, n-4 to take over",
      "after 5 s: start n-0, n-1 again",
      expect.stringMatching(/^expect: 2 of 3 primaries are lost: no majority/),
    ]);
  });
});
