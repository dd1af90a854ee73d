import { problemText } from "../../../lib/errors";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planEks } from "../../../platforms/eks/plan";
import { describeIssues } from "../../../lib/schema/problems";
import { eksPlatformSchema, zoneNames } from "../../../stacks/config/schema/eks";
import { expectReviewed } from "../../support/reviewed";
import { forAll } from "../../support/properties";

type Raw = Record<string, unknown>;

const problems = (raw: Raw): readonly string[] => {
  const input = { type: "eks", ...raw };
  const { error } = eksPlatformSchema.safeParse(input);
  return error === undefined
    ? []
    : describeIssues(eksPlatformSchema, input, error.issues, (path) => path.join(".")).map(problemText);
};

describe("the platform eks", () => {
  it("has the defaults of a small stack, closed to the outside", async () => {
    const { type, ...defaults } = eksPlatformSchema.parse({ type: "eks" });
    await expectReviewed("stacks/eks-defaults", "Defaults of the platform eks.", { [type]: defaults });
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

  it("takes everyone when it is said twice", () => {
    expect(problems({ cluster: { publicAccessCidrs: ["0.0.0.0/0"], openToTheWorld: true } })).toEqual([]);
    expect(problems({ pools: { servers: { capacity: "on-demand" }, clients: { capacity: "spot" } } })).toEqual([]);
  });

  it("never fails in any other way, whatever it is given", () => {
    forAll(
      [
        fc.dictionary(
          fc.constantFrom("region", "zones", "network", "cluster", "system", "pools", "tags", "x"),
          fc.jsonValue(),
        ),
      ],
      { numRuns: 300 },
      (raw) => {
        problems(raw);
      },
    );
  });
});
