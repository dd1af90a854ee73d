/** `npm start -- compare` over files: what it takes, what it prints, what it refuses. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CapacityRecord, Results } from "../../benchmarks/results/schema";
import { commandLine } from "../../cli/cli";
import { type Ended, captured } from "../support/captured";
import { recordAt, results } from "../support/benchmarks/records";
import { never } from "../support/valkey/real";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "compare-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const write = (name: string, content: Results | string): string => {
  const run = join(directory, name);
  mkdirSync(run);
  writeFileSync(join(run, "results.json"), typeof content === "string" ? content : JSON.stringify(content));
  return run;
};
const compare = (...args: string[]): Promise<Ended> => captured({}, () => commandLine(["compare", ...args], never));
const measurements = (rps: number): Results =>
  results([1, 2, 3, 4, 5, 6].map((round) => recordAt("cluster", round, rps * (1 + 0.01 * (round % 3)))));
const capacityOf = (capacity: number): Results => {
  const load: CapacityRecord["load"] = {
    requestMix: { data: "strings", reads: 0.9, readFrom: "primary", keys: "uniform", values: "fixed bytes=64" },
    arrivals: "fixed",
    dataSize: 64,
    keySpace: 10_000,
    clients: 50,
    pipeline: 1,
    workers: 1,
    runners: 1,
  };
  const points = [
    {
      rate: 1.1 * capacity,
      probes: 2,
      held: 0,
      achieved: capacity,
      ms: 9,
      p50Ms: 1,
      p99Ms: 9,
      lagP99Ms: 0,
      histogram: "",
    },
  ];
  return results([], {
    capacities: [
      {
        deployment: "cluster",
        mode: "cluster",
        workload: "steady",
        round: null,
        load,
        objective: { quantile: 0.99, ms: 2 },
        capacity,
        isOpenEnded: false,
        points,
        knee: null,
        bottleneck: null,
        warnings: [],
      },
    ],
  });
};

describe("the command compare", () => {
  it("holds the others against the first", async () => {
    const { status, output } = await compare(
      write("a", measurements(1000)),
      write("b", measurements(2000)),
      write("c", measurements(500)),
    );
    expect(status).toBe(0);
    expect(output).toMatch(/b over .*a\n[^]*2\.00×[^]*faster[^]*c over .*a\n[^]*0\.50×[^]*slower/);
  });

  it("takes runs that searched for capacities and measured nothing else", async () => {
    const { status, output } = await compare(write("a", capacityOf(10_000)), write("b", capacityOf(20_000)));
    expect(status).toBe(0);
    expect(output).toMatch(
      /steady, p99 ≤ 2 ms\s+cluster\s+10,000\/s\s+20,000\/s\s+2\.00×\s+\(1\.82 … 2\.20\)\s+faster/,
    );
  });

  it("refuses runs that have nothing in common, after what it can say of them", async () => {
    const { status, output } = await compare(write("a", measurements(1000)), write("b", capacityOf(20_000)));
    expect(status).toBe(2);
    expect(output).toContain("have no measurement in common");
    expect(output).toContain("capacity of cluster for steady at p99 ≤ 2 ms: measured only in the second run");
  });

  it("names every file that cannot be read, and why, and a precision that is none", async () => {
    const other = write("b", JSON.stringify({ ...measurements(1), schema: 99 }));
    const { status, output } = await compare(join(directory, "absent"), other, write("c", "{"));
    expect(status).toBe(2);
    expect(output).toMatch(/absent: no such file or directory/);
    expect(output).toMatch(/b: has version 99 of the format/);
    expect(output).toMatch(/c: is not JSON/);
    expect((await compare(directory)).output).toContain("expected at least two");
    expect(
      (await compare(write("d", measurements(1)), write("e", measurements(1)), "--precision", "7")).output,
    ).toContain("expected a fraction such as 0.05");
  });
});
