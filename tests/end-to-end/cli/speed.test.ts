/** `npm run bench` leaves no process behind when it is stopped or killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runningProcesses, RunDirectory, stopRun } from "../../../platforms/host/run-directory";
import { isProcessAlive, type ProcessIdentity } from "../../../lib/system/process-identity";
import { memoryRunsDirectory } from "../../../lib/system/paths";
import { ROOT } from "../../../lib/system/package";
import { compiledProgram } from "../../runner/compile-programs";
import { eventually, valkeyHome } from "../../support/valkey/real";

let directory: string;
let runs: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "bench-"));
  runs = memoryRunsDirectory({ VALKEY_MEASURED_CACHE: directory }) ?? join(directory, "runs");
});
afterEach(async () => {
  for (const { path } of RunDirectory.list(runs)) await stopRun(path);
  for (const each of [directory, runs]) rmSync(each, { recursive: true, force: true });
});

const living = (): ProcessIdentity[] => RunDirectory.list(runs).flatMap(({ path }) => runningProcesses(path));

async function start(...ids: string[]): Promise<{ child: ChildProcess; ended: Promise<number | null> }> {
  const env = { ...process.env, VALKEY_HOME: await valkeyHome(), VALKEY_MEASURED_CACHE: directory };
  const child = spawn(
    process.execPath,
    [compiledProgram("bench/run.ts"), ...ids, "--output", join(directory, "bench.json")],
    { cwd: ROOT, env, stdio: "ignore" },
  );
  return { child, ended: new Promise((resolve) => child.once("close", resolve)) };
}

describe("npm run bench", () => {
  it("stops its servers at Ctrl-C", async () => {
    const { child, ended } = await start("formation-6");
    await eventually("six servers run", () => living().length >= 6, 60_000);
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(RunDirectory.list(runs)).toEqual([]);
  });

  it("stops at Ctrl-C while it runs valkey-benchmark", async () => {
    const { child, ended } = await start("throughput");
    await eventually("a server and valkey-benchmark run", () => living().length >= 2, 60_000);
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(RunDirectory.list(runs)).toEqual([]);
  });

  it("stops the processes that a killed run left behind", async () => {
    const killed = await start("formation-6");
    await eventually("six servers run", () => living().length >= 6, 60_000);
    killed.child.kill("SIGKILL");
    await killed.ended;
    const left = living();
    expect(left.length).toBeGreaterThanOrEqual(6);
    await (
      await start("plan-2000-memory")
    ).ended;
    expect(living()).toEqual([]);
    expect(readFileSync(join(directory, "bench.json"), "utf8")).toMatch(/"id": "plan-2000-memory"[^}]*"met": true/);
    // Dead, if perhaps not yet reaped by process 1.
    expect(left.filter(isProcessAlive)).toEqual([]);
  });
});
