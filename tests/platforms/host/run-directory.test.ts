import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { useDirectory } from "../../support/directory";
import { identifyProcess, isProcessAlive } from "../../../lib/system/process-identity";
import { startRecorded } from "../../../platforms/host/processes";
import { runningProcesses, RunDirectory, stopAbandonedRuns, stopRun } from "../../../platforms/host/run-directory";

const runs = useDirectory();
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

async function sleeper(run: RunDirectory, command = ["sleep", "60"]): Promise<number> {
  const { child, pid } = startRecorded(run, "sleeper", command[0] ?? "", command.slice(1), {
    stdio: ["ignore", "pipe", "ignore"],
  });
  children.push(child);
  while (runningProcesses(run.path).every((identity) => identity.pid !== pid))
    await new Promise((resolve) => setTimeout(resolve, 5));
  return pid;
}

/** Makes a run look as if its runner had been killed. */
function orphan(run: RunDirectory): void {
  const file = join(run.path, "run.json");
  const info = JSON.parse(readFileSync(file, "utf8")) as { runner: { started: string } };
  writeFileSync(file, JSON.stringify({ ...info, runner: { ...info.runner, started: "before" } }));
}

describe("a run directory", () => {
  it("is readable by the user only and lists its processes", async () => {
    const run = RunDirectory.create(runs.path, "local");
    const pid = await sleeper(run);
    expect(statSync(join(run.path, "processes")).mode & 0o077).toBe(0);
    expect(runningProcesses(run.path).map((identity) => identity.pid)).toEqual([pid]);
    expect(RunDirectory.list(runs.path).map(({ info }) => info)).toMatchObject([
      { id: run.id, stack: "local", kept: false, runner: { pid: process.pid } },
    ]);
  });

  it("fails with one sentence when it cannot be created", () => {
    writeFileSync(join(runs.path, "file"), "");
    expect(() => RunDirectory.create(join(runs.path, "file"), "local")).toThrow(/run directory .* cannot be created/);
  });
});

describe("stopping a run", () => {
  it("ends its processes, by SIGKILL where SIGTERM does not, and no other process", async () => {
    const run = RunDirectory.create(runs.path, "local");
    const stubborn = await sleeper(run, ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]);
    const other = spawn("sleep", ["60"], { stdio: "ignore" });
    children.push(other);
    // A record of a process that is no more, whose number somebody else has now.
    writeFileSync(
      run.processRecord("old"),
      readFileSync(`/proc/${String(other.pid)}/stat`, "utf8").replace(/\d+( \S+){30}$/m, (tail) =>
        tail.replace(/^\d+/, "1"),
      ),
    );
    expect(await stopRun(run.path)).toBe(1);
    expect(identifyProcess(stubborn)).toBeUndefined();
    expect(identifyProcess(other.pid ?? 0)).toBeDefined();
    expect(existsSync(run.path)).toBe(false);
  });

  it("lets no process start any more, and ends processes that are about to start", async () => {
    const run = RunDirectory.create(runs.path, "local");
    const slow = await sleeper(run, ["sh", "-c", "trap 'sleep 0.4; exit' TERM; while :; do sleep 0.05; done"]);
    // One that has opened its record, and writes to it later.
    const late = spawn(
      "sh",
      ["-c", `exec 3>"$1"; sleep 0.3; cat /proc/$$/stat >&3; exec sleep 60`, "sh", run.processRecord("late")],
      { stdio: "ignore" },
    );
    children.push(late);
    while (!existsSync(run.processRecord("late"))) await new Promise((resolve) => setTimeout(resolve, 5));
    const stopping = stopRun(run.path);
    await new Promise((resolve) => setTimeout(resolve, 350));
    const latest = startRecorded(run, "latest", "sleep", ["60"], { stdio: "ignore" });
    children.push(latest.child);
    expect(await stopping).toBe(2);
    expect(await latest.ended).toEqual({ code: 126, signal: null });
    expect([slow, late.pid ?? 0].map(identifyProcess)).toEqual([undefined, undefined]);
    expect(existsSync(run.path)).toBe(false);
  });

  it("leaves a run that can be continued when it is killed half-way", async () => {
    const run = RunDirectory.create(runs.path, "local");
    const pid = await sleeper(run);
    renameSync(join(run.path, "processes"), join(run.path, "processes.closed"));
    const again = RunDirectory.open(run.path);
    expect(runningProcesses(again.path).map((identity) => identity.pid)).toEqual([pid]);
    expect(identifyProcess(await sleeper(again))).toBeDefined();
    expect(await stopRun(again.path)).toBe(2);
  });

  it("leaves no frozen child of its processes", async () => {
    const run = RunDirectory.create(runs.path, "local");
    const file = join(runs.path, "forked");
    const pid = await sleeper(run, ["sh", "-c", `sleep 0.5 & echo $! > ${file}; wait`]);
    while (!existsSync(file) || readFileSync(file, "utf8") === "")
      await new Promise((resolve) => setTimeout(resolve, 5));
    const forked = Number(readFileSync(file, "utf8"));
    process.kill(-pid, "SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(identifyProcess(forked)).toBeDefined();
    expect(await stopRun(run.path)).toBe(1);
    for (let tries = 0; identifyProcess(forked) !== undefined && tries < 100; tries++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    expect(identifyProcess(forked)).toBeUndefined();
  });
});

describe("processes that killed runs left behind", () => {
  it("are stopped; running and kept runs are not affected", async () => {
    const abandoned = RunDirectory.create(runs.path, "local");
    const atWork = RunDirectory.create(runs.path, "local");
    const kept = RunDirectory.create(runs.path, "local");
    kept.keep();
    const pids = await Promise.all([abandoned, atWork, kept].map((run) => sleeper(run)));
    orphan(abandoned);
    orphan(kept);
    expect(await stopAbandonedRuns(runs.path)).toBe(1);
    expect(pids.map((pid) => identifyProcess(pid) !== undefined)).toEqual([false, true, true]);
    expect([abandoned, atWork, kept].map(({ path }) => existsSync(path))).toEqual([false, true, true]);
  });

  it("may be stopped by two runs at once", async () => {
    const abandoned = RunDirectory.create(runs.path, "local");
    const pid = await sleeper(abandoned);
    orphan(abandoned);
    await Promise.all([stopAbandonedRuns(runs.path), stopAbandonedRuns(runs.path)]);
    expect(identifyProcess(pid)).toBeUndefined();
    expect(existsSync(abandoned.path)).toBe(false);
  });

  it("do not exist without a run directory; damaged ones are ignored", async () => {
    mkdirSync(join(runs.path, "damaged", "processes"), { recursive: true });
    writeFileSync(join(runs.path, "damaged", "run.json"), "{");
    expect(await stopAbandonedRuns(runs.path)).toBe(0);
    expect(await stopAbandonedRuns(join(runs.path, "none"))).toBe(0);
    expect(existsSync(join(runs.path, "damaged"))).toBe(true);
  });

  it("identifies this process", () => {
    expect(isProcessAlive(identifyProcess(process.pid) ?? { pid: 0, started: "" })).toBe(true);
  });
});
