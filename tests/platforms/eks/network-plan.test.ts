import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { zoneCapacity, planNetwork, prefixesNeeded, smallestMaskFor } from "../../../platforms/eks/network-plan";
import { forAll } from "../../support/properties";

interface Range {
  readonly from: number;
  readonly to: number;
}

function rangeOf(cidr: string): Range {
  const [address = "", mask = ""] = cidr.split("/");
  const from = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(mask));
  expect(from % size, `${cidr} is aligned`).toBe(0);
  return { from, to: from + size - 1 };
}

const inside = (inner: Range, outer: Range): boolean => inner.from >= outer.from && inner.to <= outer.to;
const apart = (ranges: readonly Range[]): boolean =>
  [...ranges]
    .sort((a, b) => a.from - b.from)
    .every((range, index, sorted) => index === 0 || (sorted[index - 1]?.to ?? 0) < range.from);
const cidrs = fc
  .tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 255 }), fc.integer({ min: 16, max: 26 }))
  .map(([b, c, mask]) => `10.${b}.${c}.0/${mask}`);

describe("planNetwork", () => {
  it("gives every zone subnets that are aligned, inside the block, apart from each other, and of AWS's sizes", () => {
    forAll([cidrs, fc.integer({ min: 1, max: 6 })], (cidr, zoneCount) => {
      const plan = planNetwork(cidr, zoneCount);
      if (plan === undefined) return;
      const whole = rangeOf(plan.cidr);
      const subnets = plan.zones.flatMap(({ privateCidr, publicCidr }) => [privateCidr, publicCidr]);
      expect(plan.zones).toHaveLength(zoneCount);
      expect(subnets.map(rangeOf).every((range) => inside(range, whole))).toBe(true);
      expect(apart(subnets.map(rangeOf))).toBe(true);
      for (const subnet of subnets) expect(Number(subnet.split("/")[1])).toBeLessThanOrEqual(28);
    });
  });

  it("reserves all but the first sixteenth of each private subnet for prefixes, in blocks that a reservation can name", () => {
    forAll([cidrs, fc.integer({ min: 1, max: 6 })], (cidr, zoneCount) => {
      const plan = planNetwork(cidr, zoneCount);
      if (plan === undefined || plan.addressesPerZone < 256) return;
      for (const { privateCidr, prefixCidrs } of plan.zones) {
        const [own, parts] = [rangeOf(privateCidr), prefixCidrs.map(rangeOf)];
        expect(parts.every((part) => inside(part, own)) && apart(parts)).toBe(true);
        const reserved = parts.reduce((sum, { from, to }) => sum + to - from + 1, 0);
        expect(reserved).toBe((plan.addressesPerZone / 16) * 15);
        expect(Math.min(...parts.map(({ from }) => from)) - own.from).toBe(plan.addressesPerZone / 16);
      }
    });
  });

  it("never promises more than a subnet has", () => {
    forAll([cidrs, fc.integer({ min: 1, max: 6 })], (cidr, zoneCount) => {
      const plan = planNetwork(cidr, zoneCount);
      if (plan === undefined) return;
      const { machines, prefixes } = zoneCapacity(plan);
      // Five addresses are AWS's.
      expect(machines + prefixes * 16).toBeLessThanOrEqual(plan.addressesPerZone - 5 + (machines === 0 ? 5 : 0));
    });
  });

  it("lays out a /16 over three zones with three quarters for machines", () => {
    expect(planNetwork("10.0.0.0/16", 3)).toMatchObject({
      addressesPerZone: 16_384,
      zones: [
        { privateCidr: "10.0.0.0/18", publicCidr: "10.0.192.0/24" },
        { privateCidr: "10.0.64.0/18", publicCidr: "10.0.193.0/24" },
        { privateCidr: "10.0.128.0/18", publicCidr: "10.0.194.0/24" },
      ],
    });
  });

  it.each(["", "10.0.0.0", "10.0.0.0/8", "10.0.0.0/27", "10.0.0.0/33", "10.0.0.300/16", "fd00::/48"])(
    "refuses %j",
    (cidr) => {
      expect(planNetwork(cidr, 3)).toBeUndefined();
    },
  );
});

describe("prefixesFor", () => {
  it("keeps a spare address, not a spare prefix", () => {
    expect([0, 1, 15, 16, 31, 32].map(prefixesNeeded)).toEqual([1, 1, 1, 2, 2, 3]);
  });
});

describe("smallestMaskFor", () => {
  it("finds the smallest network that holds the demand, and none where a /16 does not", () => {
    forAll([fc.integer({ min: 1, max: 4000 }), fc.integer({ min: 2, max: 6 })], (machines, zoneCount) => {
      const mask = smallestMaskFor({ machines, prefixes: machines }, zoneCount);
      const holds = (candidate: number): boolean => {
        const plan = planNetwork(`10.0.0.0/${candidate}`, zoneCount);
        const capacity = plan && zoneCapacity(plan);
        return capacity !== undefined && capacity.machines >= machines && capacity.prefixes >= machines;
      };
      if (mask === undefined) expect(holds(16)).toBe(false);
      else {
        expect(holds(mask)).toBe(true);
        expect(holds(mask + 1)).toBe(false);
      }
    });
  });
});
