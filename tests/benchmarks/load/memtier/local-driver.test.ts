import { describe, expect, it } from "vitest";
import { parseMemtierResults } from "../../../../benchmarks/load/memtier/local-driver";
import { fixture } from "../../../support/fixtures";

describe("the results of memtier_benchmark", () => {
  it("are the counts of all replies and the times by its own clock", () => {
    const { fromMs, toMs, warnings, latencies } = parseMemtierResults(fixture("memtier-2.3"));
    expect({ fromMs, toMs, warnings }).toEqual({ fromMs: 1795287947676, toMs: 1795287948691, warnings: [] });
    const totals = (
      JSON.parse(fixture("memtier-2.3")) as {
        "ALL STATS": { Totals: { Count: number; "Percentile Latencies": Record<string, number> } };
      }
    )["ALL STATS"].Totals;
    // Only the histogram counts replies that arrive after the last second.
    expect(latencies.count - totals.Count).toBeLessThanOrEqual(2);
    expect(latencies.count).toBeGreaterThanOrEqual(totals.Count);
    expect(latencies.percentileMs(0.5)).toBeCloseTo(totals["Percentile Latencies"]["p50.00"] ?? 0, 3);
    expect(latencies.percentileMs(0.999)).toBeCloseTo(totals["Percentile Latencies"]["p99.90"] ?? 0, 3);
  });

  it("are a failure where no reply arrived, although memtier_benchmark exits with status 0", () => {
    expect(() => parseMemtierResults(fixture("memtier-2.3-refused"))).toThrow("memtier_benchmark received no reply");
  });

  it("are a failure where a value is missing", () => {
    expect(() => parseMemtierResults("{")).toThrow(/2\.0 or newer is needed/);
    expect(() => parseMemtierResults(`{"ALL STATS": {}}`)).toThrow(/2\.0 or newer is needed/);
  });
});
