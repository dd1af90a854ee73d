import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFeatures } from "../../../../benchmarks/load/valkey-benchmark/arguments";
import { parseReports } from "../../../../benchmarks/load/valkey-benchmark/local-driver";
import { fixture } from "../../../support/fixtures";
import { forAll } from "../../../support/properties";

describe.each(["8.0", "9.1"])("valkey-benchmark %s", (version) => {
  it("prints a report of which every value is read", () => {
    const [report, ...more] = parseReports(fixture(`valkey-benchmark-${version}-cluster`));
    expect(more).toEqual([]);
    expect(report?.title).toBe("SET");
    expect(report?.requests).toBeGreaterThanOrEqual(30_000);
    expect((report?.rate ?? 0) * (report?.seconds ?? 0)).toBeCloseTo(report?.requests ?? NaN, 3);
    const ordered = [report?.minMs, report?.p50Ms, report?.p95Ms, report?.p99Ms, report?.maxMs].map(Number);
    expect([...ordered].sort((a, b) => a - b)).toEqual(ordered);
    for (const counts of [report?.percentiles ?? [], report?.cumulative ?? []]) {
      expect(counts.length).toBeGreaterThan(2);
      expect(counts.map(({ count }) => count)).toEqual([...counts.map(({ count }) => count)].sort((a, b) => a - b));
    }
    expect(report?.cumulative.at(-1)?.count).toBe(report?.percentiles.at(-1)?.count);
  });

  it.each(["csv", "quiet", "refused", "moved", "wrong-command"])("is refused when it prints %s", (what) => {
    expect(() => parseReports(fixture(`valkey-benchmark-${version}-${what}`))).toThrow(
      /cannot read the output of valkey-benchmark: no report/,
    );
  });
});

describe("parseReports", () => {
  const text = fixture("valkey-benchmark-9.1-cluster");

  it("reads several reports in order", () => {
    const reports = parseReports(text + text.replace("====== SET ======", "====== GET ======"));
    expect(reports.map(({ title }) => title)).toEqual(["SET", "GET"]);
  });

  it("reads the title of a custom command", () => {
    expect(parseReports(fixture("valkey-benchmark-9.1-lrange"))[0]?.title).toBe("LRANGE mylist:{tag} 0 99");
  });

  it("reads the table of latencies where a table of rates precedes it", () => {
    const rated = fixture("valkey-benchmark-9.1-rate");
    expect(rated).toContain("RPS distribution (reqs/sec):");
    expect(parseReports(rated)[0]).toMatchObject({
      requests: 25_000,
      rate: 5001,
      avgMs: 0.154,
      minMs: 0.024,
      p50Ms: 0.143,
      p95Ms: 0.287,
      p99Ms: 0.447,
      maxMs: 1.959,
    });
  });

  it("refuses a summary that contradicts the distribution", () => {
    expect(() => parseReports(fixture("valkey-benchmark-9.1-rate").replace(/1\.959$/m, "6.959"))).toThrow(
      /the maximum is 6\.959 ms in the summary and 1\.959 ms in the distribution/,
    );
  });

  it("names the line that a report lacks", () => {
    const needed = text.split(/\r\n|\r|\n/).filter((line) => /completed|throughput|avg|distribution|====/.test(line));
    expect(needed.length).toBeGreaterThanOrEqual(5);
    for (const line of needed.filter((each) => !each.includes("rps=")))
      expect(() => parseReports(text.replaceAll(line, "")), line).toThrow(/cannot read the output/);
  });

  it("refuses a value that is no number", () => {
    expect(() => parseReports(text.replace(/throughput summary: \S+/, "throughput summary: nan"))).toThrow(
      /the throughput is nan/,
    );
  });

  it("refuses random text", () => {
    forAll([fc.string({ maxLength: 300 })], (rubbish) => {
      expect(() => parseReports(rubbish)).toThrow();
    });
  });
});

describe("features", () => {
  it("are read from the help", () => {
    expect(parseFeatures(fixture("valkey-benchmark-9.1-help"))).toEqual({ duration: true, rate: true, readFrom: true });
    expect(parseFeatures(fixture("valkey-benchmark-8.0-help"))).toEqual({
      duration: false,
      rate: false,
      readFrom: false,
    });
  });
});
