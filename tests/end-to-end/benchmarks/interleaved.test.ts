/**
 * Interleaved treatments on real servers: the other side is paused, counters are right, and no process is left behind.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Interrupted } from "../../../lib/errors";
import type { StudyEnvironment } from "../../../benchmarks/studies/running/treatment-servers";
import type { BaseDeployment, Treatment } from "../../../benchmarks/studies/factors";
import { treatmentsOf } from "../../../benchmarks/studies/factors";
import { measureInterleaved } from "../../../benchmarks/studies/running/measure-interleaved";
import { signalChildGroup, startRecorded } from "../../../platforms/host/processes";
import { runningProcesses, RunDirectory } from "../../../platforms/host/run-directory";
import { randomFrom } from "../../../lib/statistics/random";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/features";
import type { Workload } from "../../../benchmarks/workloads/workload";
import { eventually, never, realPrograms } from "../../support/valkey/real";

let runs: string;
beforeEach(() => {
  runs = mkdtempSync(join(tmpdir(), "side-by-side-"));
});
afterEach(() => {
  rmSync(runs, { recursive: true, force: true });
});

const WORKLOAD: Workload = {
  name: undefined,
  tests: ["get"],
  clients: 12,
  pipeline: 16,
  dataSize: 64,
  threads: 1,
  keySpace: 16_384,
  length: { seconds: 1 },
  warmup: 0,
  rate: undefined,
};
const living = (): number => RunDirectory.list(runs).flatMap(({ path }) => runningProcesses(path)).length;
const treatment = (
  name: string,
  changes: Partial<BaseDeployment> = {},
  workload: Partial<Workload> = {},
): Treatment => {
  const [made] = treatmentsOf(
    [
      {
        name,
        mode: "replication",
        shape: { primaries: 1, replicasPerPrimary: 0 },
        settings: { appendonly: false, save: "" },
        ...changes,
      },
    ],
    {},
    { ...WORKLOAD, ...workload },
    1,
  );
  if (made === undefined) throw new Error("no treatment was made");
  return { ...made, id: name, label: name };
};

async function environment(changes: Partial<StudyEnvironment> = {}): Promise<StudyEnvironment> {
  const programs = await realPrograms();
  return {
    runs,
    engines: new Map([[undefined, programs]]),
    benchmark: programs.benchmark,
    features: await detectFeatures(programs.benchmark),
    zones: ["a", "b", "c"],
    signal: never,
    report: () => undefined,
    raw: () => undefined,
    ...changes,
  };
}

function describeState(pid: number): "halted" | "going" | "gone" {
  const state = spawnSync("ps", ["-p", String(pid), "-o", "state="], { encoding: "utf8" }).stdout.trim();
  return state === "" || state.startsWith("Z") ? "gone" : state.startsWith("T") ? "halted" : "going";
}

interface Look {
  /** The run directory, which is each side's own. */
  readonly side: string;
  readonly halted: boolean;
}

/** Every process of both, again and again: whether it is halted. */
async function looks(signal: AbortSignal): Promise<Look[][]> {
  const seen: Look[][] = [];
  while (!signal.aborted) {
    seen.push(
      RunDirectory.list(runs).flatMap(({ path }) =>
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
      await environment({ raw: (_heading, output) => raw.push(output) }),
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
    expect(living()).toBe(0);
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
    const [counts] = (await measureInterleaved(pair, 1, [undefined, undefined], randomFrom(1), await environment()))
      .tests;
    over.abort();
    // Seven servers, two load generators; the first look and the last are from before and after.
    const all = (await looking).filter((moving) => moving.length === 9);
    expect(all.length).toBeGreaterThan(100);
    const sides = all.map((moving) => new Set(moving.filter(({ halted }) => !halted).map(({ side }) => side)).size);
    // A sample takes time and may contain a change of slices; servers or load generators that are never paused show in
    // all.
    expect(sides.filter((count) => count > 1).length / all.length).toBeLessThan(0.5);
    expect(counts?.base.requests).toBeGreaterThan(1000);
    expect(living()).toBe(0);
  });

  it("pause forked processes with their server, and ignore processes that have exited", async () => {
    const run = RunDirectory.create(runs, "test");
    const parent = startRecorded(run, "parent", "/bin/sh", ["-c", "sleep 60 & echo $!; wait"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const child = await new Promise<number>((resolve) =>
      parent.child.stdout?.once("data", (data: Buffer) => {
        resolve(Number(data.toString()));
      }),
    );
    const isHalted = (): boolean[] => [parent.pid, child].map((pid) => describeState(pid) === "halted");
    signalChildGroup(parent, "SIGSTOP");
    await eventually("both are halted", () => isHalted().every(Boolean), 2000);
    signalChildGroup(parent, "SIGCONT");
    await eventually("both go on", () => !isHalted().some(Boolean), 2000);
    signalChildGroup(parent, "SIGKILL");
    expect(await parent.ended).toEqual({ code: null, signal: "SIGKILL" });
    expect(() => {
      signalChildGroup(parent, "SIGSTOP");
    }).not.toThrow();
    expect(describeState(child)).toBe("gone");
  });

  it.each([
    [
      "ends",
      "echo 'Could not connect' >&2\nexit 1",
      ["get"],
      /valkey-benchmark ended with exit status 1: Could not connect/,
    ],
    // Writing the keys of a test is not load.
    ["sends nothing", "exec sleep 60", ["hset"], /HSET: the load generator sends nothing/],
  ] as const)(
    "end with a message and without processes when a load generator %s",
    async (_what, script, tests, message) => {
      const broken = join(runs, "broken-benchmark");
      writeFileSync(broken, `#!/bin/sh\n${script}\n`);
      chmodSync(broken, 0o755);
      const pair = {
        base: treatment("a", {}, { tests: [...tests] }),
        other: treatment("b", {}, { tests: [...tests] }),
      };
      await expect(
        measureInterleaved(pair, 1, [undefined, undefined], randomFrom(1), await environment({ benchmark: broken })),
      ).rejects.toThrow(message);
      expect(living()).toBe(0);
    },
  );

  it("are stopped in the middle, paused servers included", async () => {
    const stopping = new AbortController();
    const going = measureInterleaved(
      { base: treatment("a"), other: treatment("b") },
      1,
      [undefined, undefined],
      randomFrom(1),
      await environment({ signal: stopping.signal }),
    );
    going.catch(() => undefined);
    await eventually("both have servers and load generators", () => living() === 4, 20_000);
    await sleep(1000);
    stopping.abort(new Interrupted("SIGINT"));
    await expect(going).rejects.toThrow(Interrupted);
    expect(living()).toBe(0);
  });
});
