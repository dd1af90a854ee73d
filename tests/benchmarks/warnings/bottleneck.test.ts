import { describe, expect, it } from "vitest";
import { connectionWarnings, needsConnectionCheck } from "../../../benchmarks/measuring/workload-measurements";
import { bottleneckOf } from "../../../benchmarks/warnings/bottleneck";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import { measurementRecord, openLoopCounts } from "../../support/benchmarks/records";

const good = measurementRecord();
const offering = openLoopCounts(100, { busy: 0.3 });
const cpu = (client: number | null, main: number, machineBusy: number): MeasurementRecord["cpu"] => ({
  ...good.cpu,
  client,
  clientLimit: 1,
  machineBusy,
  machineCores: 2,
  servers: [
    { node: "p", role: "primary", cores: main, mainThread: main },
    { node: "r", role: "replica", cores: 1, mainThread: 1 },
  ],
});

describe("the bottleneck of a load", () => {
  it("is never more than 100 % busy, although counters and clock are read one after the other", () => {
    const texts = [cpu(0.6, 1.005, 1.6), cpu(1.005, 0.5, 1.6), cpu(0.7, 0.7, 2.01)].map((each) => {
      const found = bottleneckOf({ ...good, cpu: each });
      return "text" in found ? /[\d.]+ %/.exec(found.text)?.[0] : undefined;
    });
    expect(texts).toEqual(["100 %", "100 %", "100 %"]);
  });

  it.each<[string, Partial<MeasurementRecord>]>([
    ["server", { cpu: cpu(0.6, 0.97, 1.6) }],
    // Both sides are busy: the server counts, because it is what is measured.
    ["server", { cpu: cpu(0.99, 0.95, 2) }],
    ["client", { cpu: cpu(0.95, 0.6, 1.6) }],
    ["machine", { cpu: cpu(0.7, 0.7, 1.95) }],
    ["none", { cpu: cpu(0.5, 0.5, 1.2) }],
    // An open loop that polls while it waits uses a whole core and does little.
    ["none", { cpu: cpu(1, 0.5, 1.9), offering }],
    ["client", { cpu: cpu(1, 0.5, 1.6), offering: { ...offering, busy: 0.95 } }],
    // The CPU is unknown: 100,000/s at 1 ms are 100 requests in flight, of 48 × 16.
    [
      "client",
      { cpu: cpu(null, 0.5, 1), client: { ...good.client, rps: 100_000, avgMs: 1 }, clients: 48, pipeline: 16 },
    ],
    ["none", { cpu: cpu(null, 0.5, 1), client: { ...good.client, rps: 700_000, avgMs: 1 }, clients: 48, pipeline: 16 }],
  ])("is the %s", (at, changes) => {
    expect(bottleneckOf({ ...good, ...changes }).at).toBe(at);
  });
});

describe("a check with more connections", () => {
  const idle = { ...good, cpu: cpu(0.5, 0.5, 1.2), rate: null, offering: null, client: { ...good.client, seconds: 2 } };

  it("follows a closed loop at full speed that ran for a second and has no bottleneck by CPU", () => {
    expect(needsConnectionCheck(idle)).toBe(true);
    for (const changes of [
      { rate: 100 },
      { offering },
      { cpu: cpu(0.6, 0.97, 1.6) },
      { cpu: cpu(0.7, 0.7, 1.95) },
      { client: { ...good.client, seconds: 0.2 } },
    ])
      expect(needsConnectionCheck({ ...idle, ...changes })).toBe(false);
  });

  it("warns where twice the connections are faster by more than a reference load varies", () => {
    expect(connectionWarnings(10_000, 10_900)).toEqual([]);
    expect(connectionWarnings(10_000, 9_000)).toEqual([]);
    expect(connectionWarnings(10_000, 18_000)).toMatchObject([
      { code: "few-connections", text: expect.stringContaining("18,000/s, 80 % more") as string },
    ]);
  });
});
