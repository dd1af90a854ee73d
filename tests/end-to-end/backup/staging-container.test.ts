/** Staging servers that the script of a container starts. The container is a shell on this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { StagingContainer } from "../../../backup/restorer/staging-container";
import { STAGING_DIRECTORY_VARIABLE, STAGING_SCRIPT } from "../../../backup/restorer/bundle";
import { infoNumber, parseInfo } from "../../../valkey/topology/replies";
import { eventually, never, realPrograms, withNode } from "../../support/valkey/real";

const KILLED = /^the staging server was killed, most likely because .* need more memory than it has$/;

let directory: string;
let shell: ChildProcess;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "staging-"));
  shell = await startContainer();
});
afterEach(async () => {
  await endContainer("SIGTERM");
  rmSync(directory, { recursive: true });
});

async function startContainer(): Promise<ChildProcess> {
  const { server } = await realPrograms();
  const path = `${dirname(server)}:${process.env["PATH"] ?? ""}`;
  const env = { ...process.env, PATH: path, [STAGING_DIRECTORY_VARIABLE]: directory };
  return spawn("sh", ["-c", STAGING_SCRIPT], { env, stdio: "inherit" });
}

async function endContainer(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (shell.exitCode !== null || shell.signalCode !== null) return;
  shell.kill(signal);
  await new Promise((resolve) => shell.once("exit", resolve));
}

async function started(staging: StagingContainer, name: string): Promise<number> {
  const server = await staging.start(name, { save: "" }, never);
  return withNode(server, 0, async (connection) => {
    expect(await connection.dbsize()).toBe(0);
    await connection.set("key", "value");
    return infoNumber(parseInfo(await connection.info("server")), "process_id") ?? 0;
  });
}

const isRunning = (id: number): boolean => {
  try {
    return process.kill(id, 0);
  } catch {
    return false;
  }
};

it("starts and stops one server after the other, and says the version", async () => {
  const staging = await StagingContainer.open(directory, never);
  expect(staging.version).toBe((await realPrograms()).version);
  for (const name of ["a", "b", "a"]) {
    const id = await started(staging, name);
    await staging.stop(name);
    expect(isRunning(id)).toBe(false);
    expect(await staging.endedBecause()).toBeUndefined();
  }
});

it("says that a server was killed, also together with its container, and starts the next one", async () => {
  const staging = await StagingContainer.open(directory, never);
  const id = await started(staging, "a");
  expect(await staging.endedBecause()).toBeUndefined();
  process.kill(id, "SIGKILL");
  expect(await staging.endedBecause()).toMatch(KILLED);
  const second = await started(staging, "b");
  await endContainer("SIGKILL");
  process.kill(second, "SIGKILL");
  await eventually("the server has ended", () => !isRunning(second));
  const reason = staging.endedBecause();
  shell = await startContainer();
  expect(await reason).toMatch(KILLED);
  await started(staging, "c");
  await staging.stop("c");
});

it("fails at once with the end of the log when a server does not start", async () => {
  const staging = await StagingContainer.open(directory, never);
  await expect(staging.start("a", { save: "often" }, never)).rejects.toThrow(
    /^the staging server ended with exit status 1; its log ends with: .*save often/s,
  );
  await started(staging, "a");
  await staging.stop("a");
});

it("ends its server when the container is stopped", async () => {
  const staging = await StagingContainer.open(directory, never);
  const id = await started(staging, "a");
  await endContainer("SIGTERM");
  await eventually("the server has ended", () => !isRunning(id));
});
