import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../support/directory";
import {
  identifyProcess,
  isProcessAlive,
  parseProcessRecord,
  signalProcess,
} from "../../../lib/system/process-identity";
import { RECORD_AND_EXEC } from "../../../platforms/host/processes";

describe("a process's identity", () => {
  it("stays the same until the process ends, and matches no process afterwards", async () => {
    const child = spawn("sleep", ["60"], { stdio: "ignore" });
    const identity = identifyProcess(child.pid ?? 0);
    if (identity === undefined) throw new Error("no identity");
    expect(isProcessAlive(identity)).toBe(true);
    expect(identifyProcess(child.pid ?? 0)).toEqual(identity);
    expect(signalProcess({ ...identity, started: "another time" }, "SIGKILL")).toBe(false);
    expect(isProcessAlive(identity)).toBe(true);
    expect(signalProcess(identity, "SIGKILL")).toBe(true);
    await new Promise((resolve) => child.once("exit", resolve));
    expect(isProcessAlive(identity)).toBe(false);
    expect(signalProcess(identity, "SIGKILL")).toBe(false);
  });

  it("is written by the process itself before it becomes the command, with unchanged arguments", async () => {
    const record = join(temporaryDirectory(), "record");
    const child = spawn("/bin/sh", [RECORD_AND_EXEC, record, "sh", "-c", 'printf %s "$1"; sleep 5', "x", "a b"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const said = await new Promise<string>((resolve) =>
      child.stdout.once("data", (chunk: Buffer) => {
        resolve(chunk.toString());
      }),
    );
    expect(said).toBe("a b");
    expect(parseProcessRecord(readFileSync(record, "utf8"))).toEqual(identifyProcess(child.pid ?? 0));
    child.kill("SIGKILL");
  });

  it("is undefined for an incomplete record", () => {
    expect(parseProcessRecord("")).toBeUndefined();
    expect(parseProcessRecord("123 (sh) S 1")).toBeUndefined();
  });

  it("is undefined for a zombie", async () => {
    // Its parent never waits for it: the inner sleep ends at once and stays a zombie.
    const parent = spawn("/bin/sh", ["-c", "sleep 0.05 & echo $!; exec sleep 60"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const pid = await new Promise<number>((resolve) =>
      parent.stdout.once("data", (chunk: Buffer) => {
        resolve(Number(chunk.toString()));
      }),
    );
    await sleep(500);
    expect(identifyProcess(pid)).toBeUndefined();
    parent.kill("SIGKILL");
  });
});
