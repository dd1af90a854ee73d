/** Interleaved treatments on real servers: the other side is paused, and counters are right. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { measureInterleaved } from "../../../benchmarks/studies/running/measure-interleaved";
import { randomFrom } from "../../../lib/statistics/random";
import { runningProcesses, RunDirectory } from "../../../platforms/host/run-directory";
import { Runs, treatment } from "../../support/benchmarks/interleaved";

let runs: Runs;
beforeEach(() => {
  runs = new Runs();
});
afterEach(() => {
  runs.remove();
});

interface Look {
  readonly side: string;
  readonly halted: boolean;
}

async function looks(signal: AbortSignal): Promise<Look[][]> {
  const seen: Look[][] = [];
  while (!signal.aborted) {
    seen.push(
      RunDirectory.list(runs.path).flatMap(({ path }) =>
        runningProcesses(path).flatMap(({ pid }): Look[] => {
          try {
            return [{ side: path, halted: /\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8")) }];
          } catch {
            return [];
          }
        }),
      ),
    );
    await sleep(7);
  }
  return seen;
}

describe("two interleaved treatments", () => {
  it.each([
    ["base", 2],
    ["other", 1],
  ])("are measured by counts and seconds of their own, with the %s started first", async (first, seed) => {
    expect(randomFrom(seed)() < 0.5 ? "base" : "other").toBe(first);
    const raw: string[] = [];
    const pair = { base: treatment("deep"), other: treatment("shallow", {}, { pipeline: 1 }) };
    const entry = await measureInterleaved(
      pair,
      3,
      [undefined, undefined],
      randomFrom(seed),
      await runs.environment({ raw: (_heading, output) => raw.push(output) }),
    );
    expect(entry).toMatchObject({
      kind: "interleaved",
      round: 3,
      base: "deep",
      other: "shallow",
      tests: [{ test: "get" }],
    });
    const [counts] = entry.tests;
    if (counts === undefined) throw new Error("nothing was counted");
    for (const { seconds, requests } of [counts.base, counts.other]) {
      // As long as each is measured alone.
      expect(seconds).toBeGreaterThan(0.7);
      expect(seconds).toBeLessThan(1.5);
      expect(requests).toBeGreaterThan(1000);
    }
    expect(counts.base.requests / counts.base.seconds / (counts.other.requests / counts.other.seconds)).toBeGreaterThan(
      2,
    );
    expect(raw.join()).toContain("-a ***");
    expect(runs.living()).toBe(0);
  });

  it.runIf(process.platform === "linux")("are paused with all their processes during slices of the other", async () => {
    const pair = {
      base: treatment(
        "cluster",
        { mode: "cluster", shape: { primaries: 3, replicasPerPrimary: 1 } },
        { tests: ["set"] },
      ),
      other: treatment("threads", { settings: { "io-threads": 2, appendonly: true, save: "" } }, { tests: ["set"] }),
    };
    const over = new AbortController();
    const looking = looks(over.signal);
    const [counts] = (
      await measureInterleaved(pair, 1, [undefined, undefined], randomFrom(1), await runs.environment())
    ).tests;
    over.abort();
    // Seven servers, two load generators; the first look and the last are from before and after.
    const all = (await looking).filter((moving) => moving.length === 9);
    expect(all.length).toBeGreaterThan(100);
    const sides = all.map((moving) => new Set(moving.filter(({ halted }) => !halted).map(({ side }) => side)).size);
    // A sample takes time and may contain a change of slices; servers or load generators that are never paused show in
    // all.
    expect(sides.filter((count) => count > 1).length / all.length).toBeLessThan(0.5);
    expect(counts?.base.requests).toBeGreaterThan(1000);
    expect(runs.living()).toBe(0);
  });
});
