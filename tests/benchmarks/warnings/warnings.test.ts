import { describe, expect, it } from "vitest";
import { type WarningEvidence, referenceLoadWarnings, warningsOf } from "../../../benchmarks/warnings/warnings";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import { measurementRecord, openLoopCounts } from "../../support/benchmarks/records";

const good = measurementRecord();
const evidence = (changes: Partial<MeasurementRecord>, more: Partial<WarningEvidence> = {}): WarningEvidence => ({
  record: { ...good, ...changes },
  isTicked: false,
  reads: true,
  ranEmpty: false,
  isSkewed: false,
  serversUnknown: undefined,
  offeredSeconds: undefined,
  ...more,
});
const codes = (changes: Partial<MeasurementRecord>, more?: Partial<WarningEvidence>): string[] =>
  warningsOf(evidence(changes, more)).map(({ code }) => code);
const servers = (changes: Partial<NonNullable<MeasurementRecord["servers"]>>): Partial<MeasurementRecord> => ({
  servers: { ...(good.servers as NonNullable<MeasurementRecord["servers"]>), ...changes },
});
const cpu = (changes: Partial<MeasurementRecord["cpu"]>): Partial<MeasurementRecord> => ({
  cpu: { ...good.cpu, ...changes },
});

describe("warnings", () => {
  it("are absent from a flawless measurement", () => {
    expect(warningsOf(evidence({}))).toEqual([]);
  });

  it.each<[string, Partial<MeasurementRecord>, Partial<WarningEvidence>?]>([
    ["clocks-disagree", servers({ disagreement: 0.011 })],
    ["clocks-disagree", servers({ disagreement: -0.011 })],
    ["servers-unknown", { servers: null }, { serversUnknown: "gone" }],
    ["hit-ratio", servers({ hitRatio: 0.39 })],
    ["ran-empty", {}, { ranEmpty: true }],
    ["errors", servers({ rejectedCalls: 3 })],
    ["evictions", servers({ evictions: 1 })],
    ["latency-limit", { client: { ...good.client, maxMs: 3000.319 } }],
    ["latency-limit", { loadGenerator: "memtier", client: { ...good.client, maxMs: 60_030.975 } }],
    ["latency-limit", { offering: openLoopCounts(1e6, { unknown: { timeout: 1 } }) }],
    ["latency-limit", { offering: openLoopCounts(1e6, { failed: { unavailable: 1 } }) }],
    ["too-short", { client: { ...good.client, seconds: 0.5 } }, { isTicked: true }],
    ["too-short", { client: { ...good.client, seconds: 24 } }, { isTicked: true }],
    ["too-short", { client: { ...good.client, seconds: 0.5 } }],
    ["rate-missed", { rate: 150_000 }],
    [
      "client-bound",
      cpu({ client: 0.95, servers: [{ node: "cluster-0", role: "primary", cores: 0.5, mainThread: 0.5 }] }),
    ],
    [
      "machine-bound",
      cpu({
        client: 0.8,
        machineBusy: 1.95,
        servers: [
          { node: "cluster-0", role: "primary", cores: 0.5, mainThread: 0.5 },
          { node: "cluster-3", role: "replica", cores: 0.6, mainThread: 0.6 },
        ],
      }),
    ],
    ["neighbour", cpu({ machineBusy: 1.9 })],
    ["neighbour", cpu({ machineStolen: 0.3 })],
    ["uneven-shares", servers({ shares: [{ node: "cluster-0", calls: 1e5, share: 0.4, expectedShare: 1 / 3 }] })],
  ])("contain %s and nothing else", (code, changes, more) => {
    expect(codes(changes, more)).toEqual([code]);
  });

  it("ignore a tick below 1 % of the time", () => {
    expect(codes({ client: { ...good.client, seconds: 26 } }, { isTicked: true })).toEqual([]);
  });

  it("do not name the client while a primary's main thread is as busy", () => {
    expect(
      codes(cpu({ client: 0.97, servers: [{ node: "cluster-0", role: "primary", cores: 1, mainThread: 0.97 }] })),
    ).toEqual([]);
  });

  it("ignore the hit ratio of tests that read nothing, and a busy client at an offered rate that is reached", () => {
    expect(codes(servers({ hitRatio: null, misses: 5 }), { reads: false })).toEqual([]);
    expect(codes({ ...cpu({ client: 0.99, machineBusy: 1, servers: [] }), rate: 100_000 })).toEqual([]);
  });

  it.each([
    ["a server at half the rate", 5000, 10, ["rate-missed"]],
    ["a server that is 3 % too slow", 9700, 5 / 0.97, ["rate-missed"]],
    ["a server that is fast enough", 9990, 5.005, []],
    // Fewer requests came than the rate says, by chance, and all were answered.
    ["random arrivals", 9700, 5, [], 48_500],
  ])(
    "find an open loop that fell behind although every request was answered: %s",
    (_what, rps, seconds, expected, offered = 50_000) => {
      const offering = openLoopCounts(offered);
      expect(
        codes({ offering, rate: 10_000, client: { ...good.client, rps, seconds } }, { offeredSeconds: 5 }),
      ).toEqual(expected);
    },
  );

  it("say nothing about the shares of primaries when replicas serve all reads, or when primaries got few calls", () => {
    const share = { node: "cluster-0", calls: 0, share: 0, expectedShare: 1 / 3 };
    expect(codes(servers({ shares: [share] }))).toEqual([]);
    expect(codes(servers({ shares: [{ ...share, calls: 100, share: 0.4 }] }))).toEqual([]);
  });

  it("allow shares that differ by chance when memtier draws few keys without hash tags", () => {
    const shares = servers({ shares: [{ node: "cluster-0", calls: 1e5, share: 0.0045, expectedShare: 0.0037 }] });
    expect(codes({ ...shares, loadGenerator: "memtier", keySpace: 16_384 })).toEqual([]);
    expect(codes({ ...shares, loadGenerator: "open-loop", keySpace: 16_384 })).toEqual(["uneven-shares"]);
  });

  it("name the equal numbers of connections only where slots are unequal", () => {
    const text = (...expected: number[]): string | undefined => {
      const shares = expected.map((each, i) => ({
        node: `n${i}`,
        calls: 1e5,
        share: 0.4 + 0.2 * i,
        expectedShare: each,
      }));
      return warningsOf(evidence(servers({ shares }))).find(({ code }) => code === "uneven-shares")?.text;
    };
    expect(text(0.5, 0.5)).toBe(
      "the shard of n0 received 40 % of the calls instead of 50 %, the shard of n1 received 60 % of the calls instead of 50 %",
    );
    expect(text(0.1, 0.9)).toContain("; valkey-benchmark gives each shard an equal number of connections");
  });

  it("contain the figures that they are drawn from", () => {
    expect(warningsOf(evidence(servers({ rps: 90_000, disagreement: 0.111 })))[0]?.text).toBe(
      "the load generator reports 100,000/s, but the servers counted 90,000/s (11.1 %)",
    );
  });
});

describe("warnings about reference loads", () => {
  const referenceLoads = (...rates: number[]): { round: number; rps: number; startedAt: string }[] =>
    rates.map((rps, i) => ({ round: i + 1, rps, startedAt: "" }));

  it("concern the rounds before and after a reference load that moved, and no others", () => {
    const moved = referenceLoads(100, 101, 60, 100, 102);
    expect([1, 2, 3, 4].map((round) => referenceLoadWarnings(round, moved).length)).toEqual([0, 1, 1, 0]);
  });

  it("are absent while the reference load is steady, and without reference loads", () => {
    expect(referenceLoadWarnings(1, referenceLoads(100, 95, 108))).toEqual([]);
    expect(referenceLoadWarnings(1, [])).toEqual([]);
    // The median of two lies between them: neither differs by a tenth.
    expect(referenceLoadWarnings(1, referenceLoads(100, 112))).toEqual([]);
  });
});
