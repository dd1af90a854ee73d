/** How interleaved treatments end: processes are paused and stopped with their children, and none is left behind. */
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { measureInterleaved } from "../../../benchmarks/studies/running/measure-interleaved";
import { Interrupted } from "../../../lib/errors";
import { randomFrom } from "../../../lib/statistics/random";
import { signalChildGroup, startRecorded } from "../../../platforms/host/processes";
import { RunDirectory } from "../../../platforms/host/run-directory";
import { Runs, treatment } from "../../support/benchmarks/interleaved";
import { eventually } from "../../support/valkey/real";

let runs: Runs;
beforeEach(() => {
  runs = new Runs();
});
afterEach(() => {
  runs.remove();
});

function describeState(pid: number): "halted" | "going" | "gone" {
  const state = spawnSync("ps", ["-p", String(pid), "-o", "state="], { encoding: "utf8" }).stdout.trim();
  return state === "" || state.startsWith("Z") ? "gone" : state.startsWith("T") ? "halted" : "going";
}

describe("two interleaved treatments", () => {
  it("pause forked processes with their server, and ignore processes that have exited", async () => {
    const run = RunDirectory.create(runs.path, "test");
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
    await eventually("both are halted", () => isHalted().every(Boolean));
    signalChildGroup(parent, "SIGCONT");
    await eventually("both go on", () => !isHalted().some(Boolean));
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
      const broken = join(runs.path, "broken-benchmark");
      writeFileSync(broken, `#!/bin/sh\n${script}\n`);
      chmodSync(broken, 0o755);
      const pair = {
        base: treatment("a", {}, { tests: [...tests] }),
        other: treatment("b", {}, { tests: [...tests] }),
      };
      await expect(
        measureInterleaved(
          pair,
          1,
          [undefined, undefined],
          randomFrom(1),
          await runs.environment({ benchmark: broken }),
        ),
      ).rejects.toThrow(message);
      expect(runs.living()).toBe(0);
    },
  );

  it("are stopped in the middle, paused servers included", async () => {
    const stopping = new AbortController();
    const going = measureInterleaved(
      { base: treatment("a"), other: treatment("b") },
      1,
      [undefined, undefined],
      randomFrom(1),
      await runs.environment({ signal: stopping.signal }),
    );
    going.catch(() => undefined);
    await eventually("both have servers and load generators", () => runs.living() === 4, 20_000);
    await sleep(1000);
    stopping.abort(new Interrupted("SIGINT"));
    await expect(going).rejects.toThrow(Interrupted);
    expect(runs.living()).toBe(0);
  });
});
