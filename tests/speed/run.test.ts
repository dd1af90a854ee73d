import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { Ended } from "../support/captured";
import { captured } from "../support/captured";
import { benchCommand } from "./bench-command";
import { ALL_IDS } from "./catalogue";
import { benchRowSchema } from "./row";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "bench-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const bench = (...args: string[]): Promise<Ended> =>
  captured({ VALKEY_MEASURED_CACHE: directory }, () => benchCommand(args, new AbortController().signal));

describe("npm run bench", () => {
  it("lists all rows", async () => {
    const { status, output } = await bench("--list");
    expect(status).toBe(0);
    for (const id of ALL_IDS) expect(output).toContain(`  ${id}\n`);
  });

  it("refuses unknown rows and options with status 2 and one message", async () => {
    const unknown = await bench("formation-7");
    expect(unknown).toMatchObject({ status: 2 });
    expect(unknown.output).toMatch(/no benchmark formation-7; did you mean formation-6\?\n.*there are: /);
    expect(await bench("--lst")).toMatchObject({ status: 2 });
    const file = join(directory, "bench.json");
    writeFileSync(file, "mine");
    expect(await bench("plan-2000", "--output", file)).toMatchObject({ status: 2 });
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  it("measures, prints a table and writes the rows", async () => {
    const file = join(directory, "bench.json");
    const { output } = await bench("plan-2000-memory", "--output", file);
    expect(output).toMatch(/^ID .* OURS .* TARGET .*\nplan-2000-memory /m);
    const rows = z.array(benchRowSchema).parse(JSON.parse(readFileSync(file, "utf8")));
    expect(rows.map(({ id }) => id)).toEqual(["plan-2000-memory"]);
    expect(rows[0]?.ours).toBeGreaterThan(20);
    expect(rows[0]).toMatchObject({ target: "≤ 300", met: true });
  });
});
