import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadInput } from "../../../../lib/errors";
import { planCluster } from "../../../../valkey/topology/cluster-plan";
import { planClusterZones, planZones } from "../../../../components/kubernetes/pods/zone-plan";
import { forAll } from "../../../support/properties";

const ZONES = ["a", "b", "c", "d", "e", "f"] as const;

describe("zones of a deployment", () => {
  it("differ by one node at most and hold them all", () => {
    forAll(
      [fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 2, max: 6 })],
      (primaries, replicasPerPrimary, count) => {
        fc.pre(primaries * (1 + replicasPerPrimary) >= count);
        const { sizes, nodes } = planZones("valkey", { primaries, replicasPerPrimary }, ZONES.slice(0, count));
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(nodes);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      },
    );
  });

  it("of a cluster can be formed zone-safe whichever zones get the odd nodes, or are refused", () => {
    forAll(
      [
        fc.integer({ min: 3, max: 60 }),
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 2, max: 6 }),
        fc.integer({ min: 0, max: 5 }),
      ],
      (primaries, replicasPerPrimary, count, turn) => {
        const shape = { primaries, replicasPerPrimary };
        const zones = ZONES.slice(0, count);
        fc.pre(primaries * (1 + replicasPerPrimary) >= count);
        const { sizes } = planZones("valkey", shape, zones);
        const placed = sizes
          .flatMap((size, index) => Array.from({ length: size }, () => zones[(index + turn) % count] ?? ""))
          .map((zone, index) => ({ name: `valkey-${index}`, zone }));
        const { warnings } = planCluster(placed, shape);
        let refused = false;
        try {
          planClusterZones("valkey", shape, zones);
        } catch (error) {
          expect(error).toBeInstanceOf(BadInput);
          refused = true;
        }
        expect(refused).toBe(warnings.length > 0);
      },
    );
  });

  it("are refused with every reason at once", () => {
    expect(() => planClusterZones("shop", { primaries: 0, replicasPerPrimary: 1.5 }, ["a", "a"])).toThrow(
      [
        "shop cannot be placed:",
        "primaries is 0; expected a whole number, at least 3",
        "replicasPerPrimary is 1.5; expected a whole number, at least 0",
        "zones contains a zone more than once: a, a",
        "zones lists 1 zone; expected at least 2",
      ].join("\n  - "),
    );
    expect(() => planClusterZones("shop", { primaries: 3, replicasPerPrimary: 3 }, ["a", "b"])).toThrow(
      "12 nodes in 2 zones (6 + 6) cannot put every replica of 3 primaries into a different zone than its primary",
    );
    expect(planZones("shop", { primaries: 1, replicasPerPrimary: 3 }, ["a", "b", "c"]).sizes).toEqual([2, 1, 1]);
  });
});
