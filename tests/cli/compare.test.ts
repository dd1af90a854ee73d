/** `npm start -- compare` over files: what it takes, what it prints, what it refuses. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Results } from "../../benchmarks/results/schema";
import { commandLine } from "../../cli/cli";
import { type Ended, captured } from "../support/captured";
import { CAPACITY_LOAD, capacityPoint, capacityRecord, recordAt, results } from "../support/benchmarks/records";
import { useDirectory } from "../support/directory";
import { never } from "../support/valkey/real";

const directory = useDirectory();

const write = (name: string, content: Results | string): string => {
  const run = join(directory.path, name);
  mkdirSync(run);
  writeFileSync(join(run, "results.json"), typeof content === "string" ? content : JSON.stringify(content));
  return run;
};
const compare = (...args: string[]): Promise<Ended> => captured({}, () => commandLine(["compare", ...args], never));
const measurements = (rps: number): Results =>
  results([1, 2, 3, 4, 5, 6].map((round) => recordAt("cluster", round, rps * (1 + 0.01 * (round % 3)))));
const capacityOf = (capacity: number): Results =>
  results([], {
    capacities: [capacityRecord({ load: CAPACITY_LOAD, capacity, points: [capacityPoint(1.1 * capacity, 0)] })],
  });

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
    const { status, output } = await compare(join(directory.path, "absent"), other, write("c", "{"));
    expect(status).toBe(2);
    expect(output).toMatch(/absent: no such file or directory/);
    expect(output).toMatch(/b: has version 99 of the format/);
    expect(output).toMatch(/c: is not JSON/);
    expect((await compare(directory.path)).output).toContain("expected at least two");
    expect(
      (await compare(write("d", measurements(1)), write("e", measurements(1)), "--precision", "7")).output,
    ).toContain("expected a fraction such as 0.05");
    expect((await compare("d", "e", "--precision", "abc")).output).toBe(
      'compare: --precision is "abc": expected a fraction such as 0.05\n',
    );
  });
});
