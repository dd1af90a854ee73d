import { describe, expect, it } from "vitest";
import { parseObjective } from "../../../benchmarks/capacity/objective";
import {
  type Probe,
  capacityBottleneck,
  judgeProbe,
  lowestFailing,
  loadLatencyPoints,
} from "../../../benchmarks/capacity/measure-capacity";
import { Histogram } from "../../../lib/histogram";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import { measurementRecord, openLoopCounts } from "../../support/benchmarks/records";

const OFFERED = 100_000;

type Answers = readonly [count: number, ms: number];
/** A record of two seconds in which so many requests were answered in so many milliseconds, and the others never. */
const offered = (...answers: readonly Answers[]): MeasurementRecord => offeredFor(2, answers);

function offeredFor(seconds: number, answers: readonly Answers[]): MeasurementRecord {
  const histogram = Histogram.empty();
  for (const [count, ms] of answers) histogram.record(ms * 1000, count);
  const requests = answers.reduce((sum, [count]) => sum + count, 0);
  const lost = OFFERED - requests;
  const offering = openLoopCounts(OFFERED, { acknowledged: requests, unknown: lost === 0 ? {} : { timeout: lost } });
  return measurementRecord({
    histogram: histogram.encode(),
    offering,
    client: { ...measurementRecord().client, requests, seconds },
  });
}

const probe = (of: MeasurementRecord, objective: string): Probe => judgeProbe(of, 50_000, parseObjective(objective), 2);

describe("a probe", () => {
  it("holds when the percentile of all offered requests is within the objective", () => {
    expect(probe(offered([OFFERED - 500, 1], [500, 9]), "p99=2ms").holds).toBe(true);
    expect(probe(offered([OFFERED - 1500, 1], [1500, 9]), "p99=2ms")).toMatchObject({
      holds: false,
      words: "misses the objective (9.01 ms)",
    });
  });

  it("counts requests without an answer as slower than any other", () => {
    // 90 of 100,000 were never answered, and of the others all but 5 within 1 ms: more than one in 10,000 took longer.
    const lossy = offered([OFFERED - 95, 1], [5, 1.9]);
    expect(probe(lossy, "p99.99=2ms")).toMatchObject({
      holds: false,
      words: "misses the objective (1.90 ms, 99.91 % answered)",
    });
    expect(probe(lossy, "p99=2ms").holds).toBe(true);
    // 0.6 in 1,000 late and 0.6 in 1,000 lost are more than one in 1,000.
    expect(probe(offered([OFFERED - 120, 1], [60, 50]), "p99.9=2ms")).toMatchObject({ holds: false });
    expect(probe(offered([OFFERED - 80, 1], [40, 50]), "p99.9=2ms")).toMatchObject({ holds: true });
  });

  it("fails when too few requests are answered or a queue grows, whatever the percentile", () => {
    expect(probe(offered([OFFERED - 200, 1]), "p50=2ms").holds).toBe(false);
    expect(probe(offeredFor(2.5, [[OFFERED, 1]]), "p50=2ms")).toMatchObject({
      holds: false,
      words: "misses the objective (1.00 ms, the queue grows)",
    });
  });

  it("is merged with the other probes of its rate into one point", () => {
    const probes = [
      probe(offered([OFFERED, 1]), "p99.99=2ms"),
      probe(offered([OFFERED - 95, 1], [5, 1.9]), "p99.99=2ms"),
    ];
    expect(loadLatencyPoints(probes, 0.9999)).toMatchObject([
      { rate: 50_000, probes: 2, held: 1, p50Ms: expect.closeTo(1, 2) as number, ms: expect.closeTo(1.9, 2) as number },
    ]);
  });

  it("that fails once of three does not make its rate the lowest that fails", () => {
    const at = (rate: number, ...held: boolean[]): Probe[] =>
      held.map((holds) => ({ rate, holds, record: measurementRecord(), words: "" }));
    expect(
      lowestFailing([...at(1000, true, true), ...at(1100, false, true, true), ...at(1200, false, false)], 1000)?.rate,
    ).toBe(1200);
    expect(lowestFailing(at(1000, true, false), 1000)).toBeUndefined();
  });

  it("has its bottleneck at the client when more connections hold the load and as many do not", () => {
    const failing = probe(offered([OFFERED, 9]), "p99=2ms");
    const bottleneckAt = (sameConnections: number, moreConnections: number): string =>
      capacityBottleneck(failing, { sameConnections, moreConnections, of: 3 }).at;
    expect(bottleneckAt(0, 2)).toBe("client");
    expect(bottleneckAt(1, 3)).toBe("client");
    expect([bottleneckAt(2, 3), bottleneckAt(1, 1), bottleneckAt(0, 0)]).not.toContain("client");
  });
});
