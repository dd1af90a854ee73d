import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { useDirectory } from "../support/directory";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Ended, captured } from "../support/captured";
import type { Benchmark } from "../../bench/workbench";
import { benchCommand } from "../../bench/bench-command";
import { ALL_IDS } from "../../bench/catalogue";
import { type BenchRow, atMost, benchRowSchema, singleRow } from "../../bench/row";

const directory = useDirectory();

const bench = (args: string[], benchmarks?: readonly Benchmark[]): Promise<Ended> =>
  captured({ VALKEY_MEASURED_CACHE: directory.path }, () =>
    benchCommand(args, new AbortController().signal, benchmarks),
  );

describe("npm run bench", () => {
  it("lists all rows", async () => {
    const { status, output } = await bench(["--list"]);
    expect(status).toBe(0);
    for (const id of ALL_IDS) expect(output).toContain(`  ${id}\n`);
  });

  it("refuses unknown rows and options with status 2 and one message", async () => {
    const unknown = await bench(["formation-7"]);
    expect(unknown).toMatchObject({ status: 2 });
    expect(unknown.output).toMatch(/no benchmark formation-7; did you mean formation-6\?\n.*there are: /);
    expect(await bench(["--lst"])).toMatchObject({ status: 2 });
    const file = join(directory.path, "bench.json");
    writeFileSync(file, "mine");
    expect(await bench(["plan-2000", "--output", file])).toMatchObject({ status: 2 });
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  /** Emits one row that is met and one that is not, if they are wanted. */
  const planned: Benchmark = {
    title: "Plan",
    ids: ["plan-2000", "plan-2000-memory"],
    run: ({ emit }) => {
      const row = (id: string, ours: number): BenchRow =>
        singleRow({ id, what: "a plan", unit: "MB" }, ours, atMost(300));
      emit(row("plan-2000", 200), row("plan-2000-memory", 400));
      return Promise.resolve();
    },
  };
  const impossible: Benchmark = {
    ...{ title: "Drain", ids: ["drain-30"], missing: "there is no cluster" },
    run: () => Promise.reject(new Error("it ran")),
  };

  it("measures, prints a table, and writes the rows that are wanted", async () => {
    const file = join(directory.path, "bench.json");
    const { status, output } = await bench(["plan-2000-memory", "--output", file], [planned, impossible]);
    expect(status).toBe(1);
    expect(output).toMatch(/^ID .* OURS .* TARGET .*\nplan-2000-memory /m);
    expect(output).toContain("Missed: plan-2000-memory\n");
    const rows = z.array(benchRowSchema).parse(JSON.parse(readFileSync(file, "utf8")));
    expect(rows).toEqual([expect.objectContaining({ id: "plan-2000-memory", ours: 400, target: "≤ 300", met: false })]);
  });

  it("skips rows that this machine cannot measure", async () => {
    const args = ["plan-2000", "drain", "--output", join(directory.path, "bench.json")];
    const { status, output } = await bench(args, [planned, impossible]);
    expect(output).toContain("Skipped: drain-30: there is no cluster\n");
    expect(status).toBe(1);
  });
});
