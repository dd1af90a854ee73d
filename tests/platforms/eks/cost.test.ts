import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatUsd, usdPerGibMonth, usdPerMillionOperations } from "../../../lib/dollars";
import { crossZoneUsdPerHour } from "../../../platforms/eks/cost";
import { planEks } from "../../../platforms/eks/plan";
import { pricesOf } from "../../../platforms/eks/offers/prices";
import { quotaNeeds, quotaProblems } from "../../../platforms/eks/quotas";
import { VALKEY_ON_EKS_PLAN } from "../../support/pulumi/eks";
import { forAll } from "../../support/properties";

const prices = pricesOf("us-west-2");

describe("the cost of a plan", () => {
  it("is the sum of what it has, by the table: Valkey on EKS by hand", () => {
    const { cost } = planEks(VALKEY_ON_EKS_PLAN);
    const byHand = {
      machines: 10 * 0.1071 + 0.2496 + 2 * 0.0816,
      roots: (13 * 20 * 0.08) / 730,
      baseline: (4 * 50 * 0.08) / 730,
      // 3,000 IOPS at $0.005 and 375 MiB/s at $0.04 beyond the baseline, for each of six.
      fast: (6 * 50 * 0.08 + 6 * (3000 * 0.005 + 375 * 0.04)) / 730,
      rest: 0.1 + 0.045 + 0.005 + 9 * 0.01 + 1 / 730,
    };
    expect(cost.usdPerHour).toBeCloseTo(
      Object.values(byHand).reduce((a, b) => a + b),
      9,
    );
    expect(cost.lines.every(({ usdPerHour }) => usdPerHour !== undefined)).toBe(true);
    expect(cost.notCounted).toEqual([
      "logs, and traffic between zones and through NAT and endpoints, because they depend on use",
    ]);
    expect(cost.date).toBe(prices?.date);
  });

  it("leaves out what is not asked for", () => {
    const { cost } = planEks({ ...VALKEY_ON_EKS_PLAN, network: { existing: true }, ownKey: false });
    expect(cost.lines.map(({ what }) => what)).not.toContain("KMS keys");
    expect(cost.lines.some(({ what }) => what.startsWith("NAT"))).toBe(false);
  });

  it("grows with the number of shards", () => {
    const of = (primaries: number): number =>
      planEks({
        ...VALKEY_ON_EKS_PLAN,
        groups: VALKEY_ON_EKS_PLAN.groups.map((group) => ({
          ...group,
          pods: Array.from({ length: primaries }, (_, index) => ({
            name: `p${index}`,
            zone: VALKEY_ON_EKS_PLAN.zones[index % 3] ?? "",
          })),
        })),
      }).cost.usdPerHour ?? NaN;
    forAll([fc.integer({ min: 1, max: 300 })], { numRuns: 30 }, (size) => {
      expect(of(size + 1)).toBeGreaterThan(of(size));
    });
  });
});

describe("dollars per use", () => {
  it("are right by hand: $3.60 an hour at 1,000 operations a second is $1 per million; $1 an hour for 730 GiB is $1 per GiB and month", () => {
    expect(usdPerMillionOperations(3.6, 1000)).toBeCloseTo(1, 12);
    expect(usdPerGibMonth(1, 730 * 2 ** 30)).toBeCloseTo(1, 12);
    // 1 GB/s is 3,600 GB an hour, a cent in each direction.
    expect(crossZoneUsdPerHour(1e9, prices)).toBeCloseTo(72, 9);
  });

  it("are unknown where nothing was served or kept, or no price is known", () => {
    expect(usdPerMillionOperations(1, 0)).toBeUndefined();
    expect(usdPerGibMonth(1, 0)).toBeUndefined();
    expect(crossZoneUsdPerHour(1e9, undefined)).toBeUndefined();
  });

  it("are written with as many digits as they deserve", () => {
    expect([0.00123456, 0.0999, 0.1071, 1.456, 1234.5].map(formatUsd)).toEqual([
      "0.0012",
      "0.10",
      "0.11",
      "1.46",
      "1,235",
    ]);
  });
});

describe("quotas", () => {
  const needs = quotaNeeds({
    isSpot: () => false,
    machines: [{ pool: "servers", type: "r7g.large", zone: "a", count: 10, vcpus: 2, podAddresses: 2 }],
    volumeGib: 1536,
    natGateways: { perZone: 1, total: 3 },
    otherInterfaces: 12,
  });

  it("are counted in AWS's own units", () => {
    expect(Object.fromEntries(needs.map(({ code, needed }) => [code, needed]))).toEqual({
      "L-1216C47A": 20,
      "L-7A658B76": 1.5,
      "L-DF5E4CA3": 22,
      "L-0263D0A3": 3,
      "L-FE5A380F": 1,
    });
  });

  it("that cannot hold the plan are said with what they are; those that could not be read are not judged", () => {
    const granted = new Map([
      ["L-1216C47A", 19],
      ["L-7A658B76", 50],
    ]);
    expect(quotaProblems(needs, granted)).toMatchObject([
      { code: "quota", message: expect.stringMatching(/quota L-1216C47A .* is 19, but the plan needs 20;/) as string },
    ]);
    expect(quotaProblems(needs, new Map([["L-1216C47A", 20]]))).toEqual([]);
    expect(quotaProblems(needs, new Map())).toEqual([]);
  });
});
