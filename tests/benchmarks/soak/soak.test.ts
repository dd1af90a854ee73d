import fc from "fast-check";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../support/directory";
import { Histogram } from "../../../lib/histogram";
import { parseDuration } from "../../../lib/units";
import { maxReplicaLag, soakFindings } from "../../../benchmarks/soak/findings";
import { trendOf } from "../../../benchmarks/soak/trend";
import type { SoakHeader, SoakWindow } from "../../../benchmarks/soak/checkpoint-log";
import { SOAK_LOG_FILE, soakCheckpointLogs, windowsOf } from "../../../benchmarks/soak/checkpoint-log";
import { soakedSeconds } from "../../../benchmarks/soak/run-soak";
import { type NodeSample, parseNodeSample } from "../../../benchmarks/soak/node-sample";
import { soakOptions } from "../../../cli/commands/soak";
import { fixture } from "../../support/fixtures";
import { forAll } from "../../support/properties";

const sample = (node: string, changes: Partial<NodeSample> = {}): NodeSample => ({
  node,
  endpoint: `10.0.0.1:${node.length}`,
  follows: null,
  role: "primary",
  uptimeSeconds: 100,
  usedBytes: 1e6,
  residentBytes: 2e6,
  fragmentation: 1.1,
  keys: 10,
  aofBytes: 1000,
  aofRewrites: 0,
  aofHealthy: true,
  offset: 1000,
  linkUp: true,
  evicted: 0,
  ...changes,
});
const window = (index: number, samples: readonly NodeSample[], changes: Partial<SoakWindow> = {}): SoakWindow => ({
  kind: "window",
  deployment: "c",
  at: new Date(index * 60_000).toISOString(),
  seconds: 60,
  offered: 100,
  acknowledged: 100,
  failed: 0,
  unknown: 0,
  latencies: Histogram.fromCumulative([
    { ms: 1, count: 99 },
    { ms: 5, count: 100 },
  ]).encode(),
  samples: [...samples],
  diskBytes: 5000,
  ...changes,
});
const header: SoakHeader = {
  kind: "soak",
  stack: "x",
  timestamp: "t",
  seconds: 600,
  windowSeconds: 60,
  rate: 10,
  reads: 0.5,
  keySpace: 10,
  bytes: 10,
  seed: 7,
  diskBytes: 1e6,
};

describe("findings of a soak", () => {
  it("distinguish memory that grows from memory that varies", () => {
    const memoryOf = (usedBytes: (index: number) => number): unknown => {
      const used = Array.from({ length: 40 }, (_, index) => sample("c-0", { usedBytes: 1e6 + usedBytes(index) }));
      return soakFindings(
        "c",
        used.map((each, index) => window(index, [each])),
      ).nodes[0]?.memory;
    };
    const perHour = expect.closeTo(300_000, -4) as number;
    expect(memoryOf((index) => index * 5000 + (index % 2) * 200)).toMatchObject({ grows: true, perHour });
    expect(memoryOf((index) => (index % 5) * 20_000)).toMatchObject({ grows: false });
    expect(trendOf([{ x: 0, y: 1 }])).toBeUndefined();
  });

  it("name every problem of a node, and none of a healthy one", () => {
    const healthy = [0, 1, 2, 3].map((index) => window(index, [sample("c-0", { uptimeSeconds: 100 + index })]));
    expect(soakFindings("c", healthy).problems).toEqual([]);
    const bad = [
      window(0, [sample("c-0", { uptimeSeconds: 500 })]),
      window(1, [sample("c-0", { uptimeSeconds: 3, role: "replica", linkUp: false, aofHealthy: false })], {
        failed: 2,
        unknown: 1,
      }),
      window(2, [sample("c-0", { role: null, uptimeSeconds: null })]),
    ];
    expect(soakFindings("c", bad).problems).toEqual([
      "c-0 did not reply (1 of 3 windows)",
      "c-0 was restarted (1 of 3 windows)",
      "c-0 changed its role (1 of 3 windows)",
      "c-0 had no link to its primary (1 of 3 windows)",
      "c-0 could not write its append-only file (1 of 3 windows)",
      "2 requests failed",
      "1 requests got no reply",
    ]);
  });

  it("compare each replica with the primary that it follows", () => {
    const samples = [
      sample("a", { endpoint: "h:1", offset: 100 }),
      sample("b", { endpoint: "h:2", offset: 900 }),
      sample("r", { role: "replica", endpoint: "h:3", follows: "h:1", offset: 60 }),
      sample("s", { role: "replica", endpoint: "h:4", follows: "h:2", offset: 905 }),
    ];
    expect(maxReplicaLag(samples)).toBe(40);
    expect(maxReplicaLag([])).toBe(0);
  });

  it("merge the latencies and counts of all windows", () => {
    const { p50Ms, maxMs, acknowledged, maxDiskBytes } = soakFindings("c", [
      window(0, []),
      window(1, [], { diskBytes: 9000, latencies: Histogram.fromCumulative([{ ms: 50, count: 1 }]).encode() }),
    ]);
    expect(p50Ms).toBeCloseTo(1, 1);
    expect(maxMs).toBeCloseTo(50, 0);
    expect({ acknowledged, mostDiskBytes: maxDiskBytes }).toEqual({ acknowledged: 200, mostDiskBytes: 9000 });
  });
});

describe("the checkpoint log of a soak", () => {
  it("is resumed wherever it was cut off", () => {
    const made = temporaryDirectory();
    const log = soakCheckpointLogs.create(made, header);
    for (let index = 0; index < 3; index++) log.add(window(index, [sample("c-0")]));
    log.close();
    const whole = readFileSync(join(made, SOAK_LOG_FILE));
    const headerEnd = whole.indexOf("\n") + 1;
    forAll([fc.integer({ min: headerEnd, max: whole.length })], (length) => {
      const text = whole.subarray(0, length).toString();
      const { entries, completeBytes: kept } = soakCheckpointLogs.parse(text, "f");
      expect(entries).toHaveLength(text.split("\n").length - 2);
      expect(kept).toBe(text.lastIndexOf("\n") + 1);
    });
  });

  it("is refused while the process that writes it is alive, and resumed when that process has ended", () => {
    const made = temporaryDirectory();
    soakCheckpointLogs.create(made, header);
    expect(() => soakCheckpointLogs.resume(made)).toThrow(/another process is writing to it/);
    writeFileSync(join(made, ".run.lock.1"), JSON.stringify({ pid: 1, started: "never" }));
    const log = soakCheckpointLogs.resume(made);
    log.add(window(0, []));
    expect(soakedSeconds(windowsOf(log))).toBe(60);
    log.close();
  });
});

describe("the options of a soak", () => {
  it("have defaults, durations and bounds", () => {
    const load = { rate: 1000, reads: 0.5 };
    expect(soakOptions({})).toMatchObject({ seconds: 7200, windowSeconds: 10, load, resume: false });
    expect(soakOptions({ duration: "3d" }).windowSeconds).toBeCloseTo(259.2);
    expect(["90s", "1.5h", "0s", "2 weeks"].map(parseDuration)).toEqual([90, 5400, undefined, undefined]);
  });

  it("are refused with every problem at once", () => {
    expect(() => soakOptions({ duration: "long", rate: "fast", reads: 2, maxDisk: "much" })).toThrow(
      /--duration is "long"[^]*--rate is "fast"[^]*--reads is 2[^]*--max-disk is "much"/,
    );
    expect(() => soakOptions({ resume: true, duration: "3h", keyspaceLen: 7 })).toThrow(
      /--duration cannot change when a soak is resumed[^]*--keyspace-len cannot change/,
    );
    expect(soakOptions({ resume: true, output: "there" })).toMatchObject({ resume: true, output: "there" });
    expect(() => soakOptions({ duration: "10h", window: "1s" })).toThrow(
      /36000 windows of 1 s; at most 1000 are allowed, so a window must last at least 36 s/,
    );
  });
});

describe("a sample", () => {
  it("is read from a real server's INFO", () => {
    const read = parseNodeSample(fixture("info-9.1"));
    expect(read.uptimeSeconds).toBeGreaterThanOrEqual(0);
    expect(read).toMatchObject({ role: "primary", aofBytes: null, linkUp: true });
  });
});
