import { describe, expect, it } from "vitest";
import { compareRuns } from "../../../benchmarks/comparing/compare";
import type { RunComparison } from "../../../benchmarks/comparing/compare";
import { formatComparison } from "../../../benchmarks/comparing/format";
import type { MeasurementRecord, Results } from "../../../benchmarks/results/schema";
import { measured, record, results } from "../../support/records";

const NOISE = [0, 0.01, -0.01, 0.02, -0.015, 0.005];

/** Six repeats of GET on the cluster at about this rate. */
function run(rps: number, changes: Partial<MeasurementRecord> = {}, more: Partial<Results> = {}, canary = 1e6): Results {
  const records = NOISE.map((noise, index) => ({ ...measured("cluster", index + 1, rps * (1 + noise)), ...changes }));
  const canaries = NOISE.map((noise, index) => ({ round: index + 1, rps: canary * (1 + noise / 3), startedAt: "2026-11-21T09:00:00.000Z" }));
  return results(records, { canaries, ...more });
}

const judgement = ({ rows }: RunComparison): string | undefined => rows[0]?.judgement;
const base = run(100_000);
const other = (results: Results): RunComparison => compareRuns(base, results);

describe("comparing two runs", () => {
  it("tells a difference from none and from too little data", () => {
    expect(judgement(other(run(150_000)))).toBe("faster");
    expect(judgement(other(run(80_000)))).toBe("slower");
    expect(judgement(other(run(100_500)))).toBe("no-difference");
    expect(judgement(compareRuns(base, { ...base, records: base.records.slice(0, 2) }))).toBe("not-enough-data");
    expect(other(run(150_000)).rows[0]?.ratio?.ratio).toBeCloseTo(1.5, 5);
  });

  it("calls noise what the canary moved as well", () => {
    expect(judgement(other(run(92_000, {}, {}, 0.9e6)))).toBe("noise");
    expect(judgement(other(run(70_000, {}, {}, 0.9e6)))).toBe("slower");
  });

  it.each<[string, Partial<MeasurementRecord>, string]>([
    ["another value size", { dataSize: 64 }, "value size: 256 B → 64 B"],
    ["another number of keys", { keySpace: 1 }, "keys: 98304 → 1"],
    ["an offered rate", { rate: 5000 }, "rate: as fast as can be → 5000/s offered"],
    ["reads that miss", { servers: { ...(record().servers ?? (() => { throw new Error(); })()), hitRatio: 0.4 } }, "hit ratio: 100.0 % → 40.0 %"],
  ])("refuses a ratio of %s", (_what, changes, note) => {
    const [row] = other(run(100_000, changes)).rows;
    expect(row).toMatchObject({ judgement: "other-work", ratio: undefined, notes: [note] });
  });

  it("refuses a ratio of mixed workloads that are mixed otherwise, and knows nothing of those of older results", () => {
    const mix = { data: "strings", reads: 0.9, readFrom: "primary", keys: "uniform", values: "fixed bytes=64" } as const;
    const notes = (changes: Partial<typeof mix> | { readonly reads: number; readonly keys: string }): unknown => compareRuns(run(100_000, { mix }), run(100_000, { mix: { ...mix, ...changes } })).rows[0]?.notes;
    expect(notes({ reads: 0.5, keys: "zipfian theta=0.99" })).toEqual(["reads: 90.0 % → 50.0 %", "keys drawn: uniform → zipfian theta=0.99"]);
    expect(notes({})).toEqual([]);
    expect(compareRuns(base, run(100_000, { mix })).rows[0]?.notes).toEqual([]);
  });

  it("shows that the same work was sent otherwise, and doubts", () => {
    const [row] = other(run(150_000, { clients: 96, doubts: [{ code: "neighbour", text: "others" }] })).rows;
    expect(row?.judgement).toBe("faster");
    expect(row?.notes).toEqual(["sent otherwise: clients: 48 → 96", "doubts in the second: neighbour"]);
  });

  it("says what changed about machine, versions, settings and shape", () => {
    const topologies = base.topologies.map((topology) => ({ ...topology, version: "valkey 8.1.1", settings: { maxmemory: "1", hz: "10" } }));
    const environment = { ...base.environment, kernel: "6.2", coresAvailable: 1 };
    const comparison = other(run(100_000, {}, { topologies, environment }));
    expect(comparison.changes.map(({ what }) => what)).toEqual(["machine", "system", "version of cluster", "hz of cluster", "maxmemory of cluster", "version of replication", "hz of replication", "maxmemory of replication"]);
    expect(comparison.canary).toBeUndefined();
    expect(comparison.rows[0]?.notes).toContain("another machine: the ratio is of both");
    expect(formatComparison(comparison).join("\n")).toContain("hz of cluster: not known there → 10");
    expect(other(run(1)).changes).toEqual([]);
    expect(formatComparison(other(run(1)))[0]).toContain("Nothing about machine, versions, settings or topology has changed");
  });

  it("matches deployments by name, else the only one of a mode, and says what is in one only", () => {
    const renamed = run(150_000, { deployment: "sharded" });
    const topologies = renamed.topologies.map((topology) => (topology.deployment === "cluster" ? { ...topology, deployment: "sharded" } : topology));
    const comparison = other({ ...renamed, topologies, records: [...renamed.records, { ...record(), deployment: "sharded", title: "INCR", test: "incr" }] });
    expect(comparison.rows).toMatchObject([{ before: "cluster", after: "sharded", judgement: "faster" }]);
    expect(comparison.unmatched).toEqual(["INCR of sharded: in the second only"]);
  });

  it("reads the same both ways", () => {
    const [forth, back] = [compareRuns(base, run(130_000)), compareRuns(run(130_000), base)];
    expect((forth.rows[0]?.ratio?.ratio ?? 0) * (back.rows[0]?.ratio?.ratio ?? 0)).toBeCloseTo(1, 10);
    expect([judgement(forth), judgement(back)]).toEqual(["faster", "slower"]);
  });
});
