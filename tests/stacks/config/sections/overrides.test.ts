import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyOverrides } from "../../../../stacks/config/sections/overrides";
import { thrownProblems } from "../../../support/problems";
import { forAll } from "../../../support/properties";

const FILE = {
  platform: { type: "eks", zones: ["a", "b", "c"], pools: { servers: { instanceTypes: ["r7g.large"] } } },
  deployments: { d: { primaries: 3 } },
};

describe("values in place of a file's", () => {
  it.each<[string, unknown]>([
    ["deployments.d.primaries=300", { ...FILE, deployments: { d: { primaries: 300 } } }],
    ["valkey:platform.zones=[a, b]", { ...FILE, platform: { ...FILE.platform, zones: ["a", "b"] } }],
    ["platform.zones.1=d", { ...FILE, platform: { ...FILE.platform, zones: ["a", "d", "c"] } }],
    ["platform.zones.3=d", { ...FILE, platform: { ...FILE.platform, zones: ["a", "b", "c", "d"] } }],
    [
      "platform.network.cidr=10.0.0.0/20",
      { ...FILE, platform: { ...FILE.platform, network: { cidr: "10.0.0.0/20" } } },
    ],
    ["platform.pools=", { ...FILE, platform: { type: "eks", zones: ["a", "b", "c"] } }],
    ['deployments.d.settings.save=""', { ...FILE, deployments: { d: { primaries: 3, settings: { save: "" } } } }],
  ])("%s", (assignment, expected) => {
    const before = JSON.stringify(FILE);
    expect(applyOverrides(FILE, [assignment])).toEqual(expected);
    expect(JSON.stringify(FILE)).toBe(before);
  });

  it("follow each other", () => {
    expect(applyOverrides(FILE, ["deployments.d.primaries=4", "deployments.d.primaries=5"])).toMatchObject({
      deployments: { d: { primaries: 5 } },
    });
  });

  it("never fail in any other way", () => {
    forAll([fc.string()], (assignment) => {
      thrownProblems(() => applyOverrides(FILE, [assignment]));
    });
  });
});
