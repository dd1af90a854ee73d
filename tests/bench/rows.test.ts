import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { useDirectory } from "../support/directory";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CounterSample } from "../../benchmarks/measuring/counters";
import { BadInput, Failure } from "../../lib/errors";
import { atLeast, atMost, below, BenchFile, benchRowSchema, comparedRow, rowTable, singleRow } from "../../bench/row";
import { ALL_IDS, selectIds } from "../../bench/catalogue";
import { clockRow, ownRate } from "../../bench/rows/throughput";
import { exponent } from "../../bench/rows/formation";
import type { BenchRow } from "../../bench/row";
import { alternatingSides } from "../../bench/workbench";
import { forAll } from "../support/properties";

const directory = useDirectory();

const row = (id: string, ours = 1): BenchRow => singleRow({ id, what: "something", unit: "s" }, ours, atMost(2));

describe("the selected rows", () => {
  it("are all rows without names, or those whose ids are or begin with a name", () => {
    expect([...selectIds([])]).toEqual(ALL_IDS);
    expect([...selectIds(["formation-48"])]).toEqual(["formation-48"]);
    expect([...selectIds(["plan-2000", "verification"])]).toEqual([
      "plan-2000",
      "plan-2000-memory",
      "verification-96",
      "verification-200",
    ]);
  });

  it("are refused with all unknown names and all ids", () => {
    const refused = (): unknown => selectIds(["formaton-48", "clock", "x"]);
    expect(refused).toThrow(BadInput);
    expect(refused).toThrow(
      /no benchmark formaton-48; did you mean formation-48\?[^]*no benchmark x\n[^]*there are: formation-6, .*clock,/,
    );
    expect(refused).not.toThrow(/no benchmark clock/);
  });

  it("have different ids", () => {
    expect(new Set(ALL_IDS).size).toBe(ALL_IDS.length);
  });
});

describe("a row", () => {
  it("meets its target by its ratio, or by our figure where it has no ratio", () => {
    const head = { id: "a", what: "b", unit: "s" };
    expect(comparedRow(head, { ours: 2, reference: 16 }, "reference/ours", atLeast(8))).toEqual({
      ...head,
      ours: 2,
      reference: 16,
      ratio: 8,
      target: "≥ 8",
      met: true,
    });
    expect(comparedRow(head, { ours: 2, reference: 16 }, "ours/reference", atLeast(8))).toMatchObject({
      ratio: 0.125,
      met: false,
    });
    expect(singleRow(head, 1.5, below(1.5))).toMatchObject({
      target: "< 1.5",
      met: false,
      reference: null,
      ratio: null,
    });
    expect(singleRow(head, 1, atMost(1))).toMatchObject({ target: "≤ 1", met: true });
  });

  it("is printed with its figures, and marked when it misses its target", () => {
    const lines = rowTable([row("good"), row("bad", 12_345)]);
    expect(lines[1]).toMatch(/^good +1\.00 +– +s +– +≤ 2 +✓ +something$/);
    expect(lines[2]).toMatch(/^bad +12,345 +– +s +– +≤ 2 +✗ missed +something$/);
  });
});

describe("bench.json", () => {
  const open = (): BenchFile => BenchFile.open(join(directory.path, "bench.json"), ["a", "b", "c"]);
  const read = (): unknown => JSON.parse(readFileSync(join(directory.path, "bench.json"), "utf8"));

  it("keeps the rows of other runs, replaces those of this run, and sorts them", () => {
    open().put(row("c"));
    open().put(row("a"));
    open().put(row("c", 3));
    expect(read()).toEqual([row("a"), row("c", 3)]);
    expect(readdirSync(directory.path)).toEqual(["bench.json"]);
  });

  it("drops rows of benchmarks that no longer exist", () => {
    writeFileSync(join(directory.path, "bench.json"), JSON.stringify([row("gone"), row("b")]));
    open().put(row("a"));
    expect(read()).toEqual([row("a"), row("b")]);
  });

  it.each(["no JSON", "{}", '[{"id":"a"}]'])("is not overwritten when it contains something else: %s", (text) => {
    writeFileSync(join(directory.path, "bench.json"), text);
    expect(open).toThrow(BadInput);
    expect(open).toThrow(/does not contain results of this version; move it away/);
  });

  it("fails with one sentence when it cannot be written", () => {
    const file = BenchFile.open(join(directory.path, "gone", "bench.json"), ["a"]);
    expect(() => {
      file.put(row("a"));
    }).toThrow(Failure);
  });

  it("contains only complete rows", () => {
    expect(benchRowSchema.safeParse({ ...row("a"), met: "yes" }).success).toBe(false);
  });
});

describe("alternating sides", () => {
  it("come in pairs, and each is first as often as the other", () => {
    expect(alternatingSides(3)).toEqual(["ours", "reference", "reference", "ours", "ours", "reference"]);
  });
});

describe("the exponent of growth", () => {
  it("is the one that the times were computed from", () => {
    forAll(
      [fc.double({ min: -1, max: 3, noNaN: true }), fc.double({ min: 0.01, max: 100, noNaN: true })],
      (x, factor) => {
        expect(exponent([6, 24, 48, 96].map((n) => [n, factor * n ** x]))).toBeCloseTo(x, 6);
      },
    );
  });
});

describe("the rate by the servers' own clocks", () => {
  const sample = (atMs: number, calls: number): CounterSample => ({
    atMs,
    calls,
    hits: 0,
    misses: 0,
    evictions: 0,
    cpuSeconds: 0,
    mainThreadSeconds: undefined,
    rejectedCalls: 0,
  });

  it("is that of a steady load, wherever the samples fall", () => {
    forAll(
      [fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 199 }), fc.integer({ min: 1000, max: 5000 })],
      (perMs, offset, lasts) => {
        const calls = (atMs: number): number => 77 + perMs * Math.min(Math.max(atMs - offset, 0), lasts);
        const samples = Array.from({ length: Math.ceil((lasts + offset) / 200) + 2 }, (_, i) =>
          sample(i * 200, calls(i * 200)),
        );
        expect(ownRate(samples)).toBeCloseTo(1000 * perMs, 3);
      },
    );
  });

  it("is unknown with fewer than two samples under load", () => {
    expect(ownRate([sample(0, 0), sample(100, 50), sample(200, 80)])).toBeUndefined();
  });

  it("shows a load generator that reports a wrong time, which counts do not show", () => {
    expect(
      clockRow([
        { byCounts: -0.001, byClocks: 0.002 },
        { byCounts: 0.004, byClocks: -0.02 },
        { byCounts: 0, byClocks: 0.001 },
      ]),
    ).toMatchObject({ ours: 0.4, met: true });
    expect(
      clockRow([
        { byCounts: -0.001, byClocks: -0.2 },
        { byCounts: 0.004, byClocks: -0.2 },
      ]),
    ).toMatchObject({ ours: 20, met: false });
    expect(clockRow([{ byCounts: -0.02, byClocks: 0 }])).toMatchObject({ ours: 2, met: false });
    expect(clockRow([{ byCounts: 0, byClocks: undefined }])).toMatchObject({ met: false });
  });
});
