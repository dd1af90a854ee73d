import { describe, expect, it } from "vitest";
import { scalingCharts } from "../../../benchmarks/report/study-charts";
import type { ResultRow } from "../../../benchmarks/results/rows";
import type { StudyFit, StudyRecord } from "../../../benchmarks/results/study-schema";

const ROWS = [1, 2].map((primaries) => ({
  ...{ deployment: `${primaries}-primaries`, title: "GET", rps: { median: 1000 * primaries } },
  // 5 µs and 10 µs per operation.
  ...{ serverCpu: 0.005 * primaries, serverRps: 1000 },
})) as unknown as ResultRow[];

/** A study of one and two primaries, with one fit. */
function studyWith(fit: Partial<StudyFit>): StudyRecord {
  const treatments = [1, 2].map((primaries) => ({ id: `${primaries}-primaries`, levels: { primaries } }));
  const standard = {
    title: "GET",
    exponent: null,
    factor: null,
    treatments: treatments.map(({ id }) => id),
    excluded: [],
  };
  return { treatments, fits: [{ ...standard, ...fit }] } as unknown as StudyRecord;
}

/** Points of treatments in the fit. */
function pointsOf(fit: Partial<StudyFit>): unknown {
  const [chart] = scalingCharts(studyWith(fit), ROWS);
  return chart?.marks("wide")[1]?.data;
}

describe("a chart of scaling", () => {
  it("draws the metric of its fit, whatever the title says", () => {
    const what = "throughput against shards, 1 CPU each";
    expect(pointsOf({ metric: "throughput", what })).toEqual([
      [1, 1000],
      [2, 2000],
    ]);
    expect(pointsOf({ metric: "cpu-per-operation", what: "cost against shards" })).toEqual([
      [1, 5],
      [2, 10],
    ]);
  });

  it("is left out with fewer than two points", () => {
    expect(scalingCharts(studyWith({ metric: "throughput", treatments: ["1-primaries"] }), ROWS)).toEqual([]);
  });
});
