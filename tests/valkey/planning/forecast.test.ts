import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type MeasuredCluster, forecastCluster, measuredClusters } from "../../../valkey/planning/forecast";
import { predictLine, predictPowerLaw, predictRelativeLine } from "../../../lib/statistics/prediction";
import { randomFrom } from "../../../lib/statistics/random";
import { busTraffic } from "../../../valkey/topology/bus-traffic";
import { forAll } from "../../support/properties";

/** Measurements for which the models are exact, each figure multiplied by noise. */
function world(nodes: readonly number[], noise: () => number): MeasuredCluster[] {
  return nodes.map((n) => ({
    nodes: n,
    formationSeconds: (0.5 + 2e-4 * n ** 2) * noise(),
    verificationSeconds: 0.002 * n ** 1.1 * noise(),
    outageSeconds: 2 + 0.03 * n + (0.4 + 0.5 * (2 + 0.03 * n)) * noise(),
    okSeconds: 5,
    nodeTimeoutMs: 2000 + 30 * n,
    descriptors: 2 * n + 20,
    residentBytes: 1e7 + 10_000 * n * noise(),
    bus: { nodeTimeoutMs: 15_000, bytesPerNode: busTraffic(n, 15_000, false).bytesPerNode * 0.7 * noise() },
  }));
}

describe("the forecast of a large cluster", () => {
  it("reproduces the models from measurements without noise, at any size", () => {
    forAll([fc.integer({ min: 300, max: 3000 }), fc.integer({ min: 1000, max: 15_000 })], (nodes, timeout) => {
      const points = world([12, 24, 48, 96, 200], () => 1);
      const found = forecastCluster(points, nodes, { nodeTimeoutMs: timeout, announceHostNames: false });
      expect(found?.descriptors.estimate).toBeCloseTo(2 * nodes + 20, 3);
      expect(found?.formationSeconds.estimate).toBeCloseTo(0.5 + 2e-4 * nodes ** 2, 3);
      expect(found?.outageSeconds.estimate).toBeCloseTo(timeout / 1000 + 0.4 + timeout / 2000, 3);
      expect(
        (found?.busBytesPerNode.estimate ?? 0) / (0.7 * busTraffic(nodes, timeout, false).bytesPerNode),
      ).toBeCloseTo(1, 3);
    });
  });

  it("predicts outage and bus from the ping interval in force, not from the node timeout alone", () => {
    const points = world([12, 24, 48, 96, 200], () => 1);
    const [slow, quick] = [10_000, 600].map((pingedMs) =>
      forecastCluster(points, 200, { nodeTimeoutMs: 10_000, pingTimeoutMs: pingedMs, announceHostNames: false }),
    );
    expect(slow?.outageSeconds.estimate).toBeCloseTo(15.4, 3);
    expect(quick?.outageSeconds.estimate).toBeCloseTo(10.7, 3);
    expect(quick?.busBytesPerNode.estimate).toBeGreaterThan(10 * (slow?.busBytesPerNode.estimate ?? Infinity));
  });

  it("needs more than two points", () => {
    const two = world([12, 24], () => 1);
    expect(forecastCluster(two, 1000, { nodeTimeoutMs: 5000, announceHostNames: false })).toBeUndefined();
  });

  it("never predicts more bus traffic than the upper bound", () => {
    const points = world([12, 24, 48, 96, 200], () => 1).map((point) => ({
      ...point,
      bus: { ...point.bus, bytesPerNode: point.bus.bytesPerNode * (1 + point.nodes / 100) },
    }));
    expect(
      forecastCluster(points, 2000, { nodeTimeoutMs: 15_000, announceHostNames: false })?.busBytesPerNode.estimate,
    ).toBe(busTraffic(2000, 15_000, false).bytesPerNode);
  });

  const measured = measuredClusters();
  it.skipIf(measured === undefined)(
    `predicts 500, 1,000 and 2,000 nodes from the committed measurements${measured === undefined ? " (skipped: there are none, see npm run bench -- large-model)" : ""}`,
    () => {
      const points = measured?.points ?? [];
      expect(new Set(points.map(({ nodes }) => nodes)).size).toBeGreaterThanOrEqual(4);
      for (const nodes of [500, 1000, 2000]) {
        const found = forecastCluster(points, nodes, { nodeTimeoutMs: 15_000, announceHostNames: true });
        expect(found?.descriptors.estimate).toBeGreaterThan(2 * (nodes - 1));
        expect(found?.descriptors.high).toBeLessThan(3 * nodes);
        for (const { low, estimate, high } of [
          found?.formationSeconds,
          found?.verificationSeconds,
          found?.outageSeconds,
          found?.busBytesPerNode,
          found?.residentBytes,
        ].flatMap((each) => each ?? [])) {
          expect(low).toBeLessThanOrEqual(estimate);
          expect(high).toBeGreaterThanOrEqual(estimate);
        }
      }
    },
  );
});

describe("a prediction's interval", () => {
  it.each([
    ["a line", predictLine, 0],
    ["a power law", predictPowerLaw, 1],
    ["a line by its relative errors", predictRelativeLine, 2],
  ] as const)("of %s contains the next measurement about as often as its confidence level", (_what, predict, kind) => {
    const random = randomFrom(7);
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const truth = (x: number): number =>
      [5 + 2 * x + normal(), 3 * x ** 1.3 * Math.exp(0.1 * normal()), (5 + 2 * x) * (1 + 0.1 * normal())][kind] ?? NaN;
    let held = 0;
    const rounds = 1000;
    for (let round = 0; round < rounds; round++) {
      const points = [12, 24, 48, 72, 96, 144].map((x) => ({ x, y: truth(x) }));
      const found = predict(points, 500, 0.95);
      const seen = truth(500);
      if (found !== undefined && found.low <= seen && seen <= found.high) held++;
    }
    expect(held / rounds).toBeGreaterThan(0.93);
    expect(held / rounds).toBeLessThan(0.97);
  });

  it("is undefined for two points, or for points of one size", () => {
    const pointsOf = (...points: readonly (readonly [x: number, y: number])[]): { x: number; y: number }[] =>
      points.map(([x, y]) => ({ x, y }));
    const ofOneSize = pointsOf([1, 1], [1, 2], [1, 3]);
    expect(predictLine(pointsOf([1, 1], [2, 2]), 3, 0.95)).toBeUndefined();
    expect(predictLine(ofOneSize, 3, 0.95)).toBeUndefined();
    expect(predictRelativeLine(pointsOf([1, 1], [2, 2], [3, 0]), 3, 0.95)).toBeUndefined();
    expect(predictRelativeLine(ofOneSize, 3, 0.95)).toBeUndefined();
  });
});
