import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CounterSample, countsWithin, parseCounters } from "../../../benchmarks/measuring/counters";
import { cpuWithin } from "../../../platforms/host/cpu";
import { fixture } from "../../support/fixtures";
import { forAll } from "../../support/properties";

const sample = (atMs: number, calls: number, cpuSeconds = 0): CounterSample => ({
  atMs,
  calls,
  hits: calls,
  misses: 0,
  evictions: 0,
  rejectedCalls: 0,
  cpuSeconds,
  mainThreadSeconds: cpuSeconds / 2,
});

describe("parseCounters", () => {
  it.each(["8.0", "9.1"])("reads INFO of Valkey %s", (version) => {
    const read = parseCounters(fixture(`info-${version}`), ["info"], 5);
    expect(read.atMs).toBe(5);
    expect(read.calls).toBeGreaterThan(0);
    expect(read.cpuSeconds).toBeGreaterThan(0);
    expect(read.mainThreadSeconds).toBeLessThanOrEqual(read.cpuSeconds);
    expect(parseCounters(fixture(`info-${version}`), ["never-called"], 5).calls).toBe(0);
  });

  it("throws for a missing figure instead of reading 0", () => {
    expect(() => parseCounters("keyspace_hits:1\r\n", ["get"], 0)).toThrow(/no keyspace_misses/);
  });
});

describe("countsWithin", () => {
  it("counts every call between the first and the last sample", () => {
    forAll([fc.array(fc.nat(10_000), { minLength: 1, maxLength: 40 })], (increments) => {
      let calls = 500;
      const running = increments.map((increment, i) => sample(1000 + i * 200, (calls += increment)));
      const end = 1000 + increments.length * 200;
      const counts = countsWithin([sample(0, 500), ...running, sample(end + 50, calls)], { fromMs: 900, toMs: end });
      expect(counts.calls).toBe(increments.reduce((a, b) => a + b, 0));
      expect(counts.hits).toBe(counts.calls);
    });
  });

  it("counts CPU within the interval only", () => {
    const samples = [sample(0, 0, 10), sample(1000, 0, 10.5), sample(2000, 0, 11.5), sample(9000, 0, 90)];
    const counts = countsWithin(samples, { fromMs: 900, toMs: 2100 });
    expect(counts.cores).toBeCloseTo(1);
    expect(counts.mainThreadCores).toBeCloseTo(0.5);
  });
});

describe("cpuWithin", () => {
  it("is in cores over the samples within the interval, and undefined where the system does not tell", () => {
    const at = (atMs: number, seconds: number | undefined): Parameters<typeof cpuWithin>[0][number] => ({
      atMs,
      processSeconds: seconds,
      machine: undefined,
    });
    const use = cpuWithin([at(0, 0), at(100, 5), at(1100, 5.8), at(3000, undefined)], 50, 3000);
    expect(use.process).toBeCloseTo(0.8);
    expect(use.machineBusy).toBeUndefined();
    expect(cpuWithin([], 0, 1).process).toBeUndefined();
  });
});
