import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadInput } from "../../../../lib/errors";
import { applyOverrides } from "../../../../stacks/config/sections/overrides";

const FILE = {
  platform: { type: "eks", zones: ["a", "b", "c"], pools: { servers: { instanceTypes: ["r7g.large"] } } },
  deployments: { d: { primaries: 3 } },
};

function problems(...assignments: readonly string[]): readonly string[] {
  try {
    applyOverrides(FILE, assignments);
    return [];
  } catch (error) {
    if (error instanceof BadInput) return error.problems;
    throw error;
  }
}

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

  it("that cannot be understood are said, all at once", () => {
    expect(
      problems(
        "primaries",
        "=3",
        "deployments..d=3",
        "deployments.d.primaries=[",
        "platform.zones.x=a",
        "platform.zones.9=a",
        "platform.type.x=1",
      ),
    ).toEqual([
      "--set primaries: expected PATH=VALUE, such as platform.region=eu-west-1",
      "--set =3: expected PATH=VALUE, such as platform.region=eu-west-1",
      "--set deployments..d=3: expected PATH=VALUE, such as platform.region=eu-west-1",
      expect.stringMatching(/^--set deployments\.d\.primaries=\[: the value is not YAML: /),
      "--set platform.zones: x is not an index in a list of 3; expected a number from 0",
      "--set platform.zones: 9 is not an index in a list of 3; expected a number from 0",
      '--set platform.type is "eks", which has no x',
    ]);
  });

  it("never fail in any other way", () => {
    fc.assert(
      fc.property(fc.string(), (assignment) => {
        expect(Array.isArray(problems(assignment))).toBe(true);
      }),
    );
  });
});
