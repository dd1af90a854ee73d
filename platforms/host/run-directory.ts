/**
 * The directory of one run on this machine. It contains records of the run's own process and of the processes that the
 * run started, with their data and logs.
 *
 *   RUNS/ID/run.json            identity of the run's own process, the stack, and whether the deployment is kept
 *   RUNS/ID/processes/NAME      record of a process that the run started, written by that process itself
 *   RUNS/ID/processes.closed/   the folder `processes` after the run has begun to stop
 *   RUNS/ID/deployments.json    references to the deployments of a run with --keep, see ../kept-deployments.ts
 *   RUNS/ID/side-effects/NAME   record of dropped packets or of a mounted file system, see side-effects.ts
 *   RUNS/ID/DEPLOYMENT/NODE/    a node's configuration, data and log
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { codeOf, Failure, messageOf } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import type { ProcessIdentity } from "../../lib/system/process-identity";
import {
  identifyProcess,
  isProcessAlive,
  parseProcessRecord,
  signalProcessGroup,
  signalProcess,
} from "../../lib/system/process-identity";
import { replaceFile } from "../../lib/system/replace-file";
import { removeSideEffects } from "./side-effects";

const runSchema = z.object({
  id: z.string(),
  runner: z.object({ pid: z.number(), started: z.string() }),
  stack: z.string(),
  kept: z.boolean(),
});

export type RunInfo = z.infer<typeof runSchema>;

const ID = /^\d{8}-\d{6}-[0-9a-f]{4}$/;

export const isRunId = (text: string): boolean => ID.test(text);

const OPEN = "processes";
const CLOSED = "processes.closed";

const RECORDING_MS = 2000;
const GRACE_MS = 2000;
const KILL_TIMEOUT_MS = 8_000;
const POLL_MS = 20;

export class RunDirectory {
  private constructor(
    readonly path: string,
    private info: RunInfo,
  ) {}

  /** @throws Failure when it cannot be written */
  static create(runs: string, stack: string): RunDirectory {
    const runner = identifyProcess(process.pid);
    if (runner === undefined) throw new Failure("this process cannot be identified (is /proc mounted?)");
    const id = `${new Date()
      .toISOString()
      .replace(/[-:]|\..*/g, "")
      .replace("T", "-")}-${randomBytes(2).toString("hex")}`;
    const path = join(runs, id);
    // The directory has a hidden name until run.json exists. Otherwise a different run could consider it abandoned.
    const hidden = join(runs, `.${id}`);
    try {
      mkdirSync(join(hidden, OPEN), { recursive: true, mode: 0o700 });
      const info = { id, runner, stack, kept: false };
      writeInfo(hidden, info);
      renameSync(hidden, path);
      return new RunDirectory(path, info);
    } catch (error) {
      throw new Failure(`run directory ${path} cannot be created: ${messageOf(error)}`, { cause: error });
    }
  }

  static open(path: string): RunDirectory {
    const info = readInfo(path);
    if (info === undefined) throw new Failure(`directory ${path} is not a run directory`);
    // The run had begun to stop, but the process that was stopping it was killed or failed.
    if (!existsSync(join(path, OPEN)))
      unlessGone(() => {
        renameSync(join(path, CLOSED), join(path, OPEN));
      }, undefined);
    return new RunDirectory(path, info);
  }

  static list(runs: string): { path: string; info: RunInfo }[] {
    if (!existsSync(runs)) return [];
    return readdirSync(runs, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
      .map((entry) => join(runs, entry.name))
      .sort()
      .flatMap((path) => {
        const info = readInfo(path);
        return info === undefined ? [] : [{ path, info }];
      });
  }

  get id(): string {
    return this.info.id;
  }

  get kept(): boolean {
    return this.info.kept;
  }

  processRecord(name: string): string {
    return join(this.path, OPEN, name);
  }

  nodeDirectory(deployment: string, node: string): string {
    const path = join(this.path, deployment, node);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** Keeps the deployment running after this process has ended. Later runs do not stop it. */
  keep(): void {
    this.info = { ...this.info, kept: true };
    writeInfo(this.path, this.info);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

function writeInfo(path: string, info: RunInfo): void {
  const file = join(path, "run.json");
  replaceFile(file, JSON.stringify(info, null, 2));
}

function readInfo(path: string): RunInfo | undefined {
  try {
    return runSchema.parse(JSON.parse(readFileSync(join(path, "run.json"), "utf8")));
  } catch {
    return undefined;
  }
}

export function runningProcesses(path: string): ProcessIdentity[] {
  return runningRecords(path).map(({ identity }) => identity);
}

export function runningRecords(path: string): { readonly name: string; readonly identity: ProcessIdentity }[] {
  return records(path).flatMap(({ name, identity }) =>
    identity !== undefined && isProcessAlive(identity) ? [{ name, identity }] : [],
  );
}

function records(path: string): { readonly name: string; readonly identity: ProcessIdentity | undefined }[] {
  return [OPEN, CLOSED].flatMap((place) => {
    const directory = join(path, place);
    return unlessGone<string[]>(() => readdirSync(directory), []).map((file) => ({
      name: file.replace(/\.\d+$/, ""),
      identity: parseProcessRecord(unlessGone(() => readFileSync(join(directory, file), "utf8"), "")),
    }));
  });
}

/** @param otherwise result if the file or directory does not exist any more */
function unlessGone<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return otherwise;
    throw error;
  }
}

/** No new server can start then, because a process starts its server only after it has recorded itself. */
async function closeRecords(path: string): Promise<void> {
  unlessGone(() => {
    renameSync(join(path, OPEN), join(path, CLOSED));
  }, undefined);
  const areComplete = (): boolean => records(path).every(({ identity }) => identity !== undefined);
  await holdsInTime(areComplete, { timeoutMs: RECORDING_MS, intervalMs: POLL_MS });
}

/**
 * Undoes side effects of faults. SIGTERM, then SIGKILL; frozen processes are woken first. Two calls may run at once.
 * @returns the number of stopped processes
 * @throws Failure when one survives SIGKILL; the directory is then kept
 */
export async function stopRun(path: string): Promise<number> {
  await closeRecords(path);
  const living = runningProcesses(path);
  for (const identity of living) signalProcess(identity, "SIGTERM");
  // The signal goes to the whole process group, because a server that was frozen during a save has a frozen child.
  for (const identity of living) signalProcessGroup(identity, "SIGCONT");
  const haveEnded = (): boolean => !living.some(isProcessAlive);
  if (!(await holdsInTime(haveEnded, { timeoutMs: GRACE_MS, intervalMs: POLL_MS }))) await killAll(living, path);
  await removeSideEffects(path);
  // A program beside a server may write until it notices that the server has ended.
  rmSync(path, { recursive: true, force: true, maxRetries: 30, retryDelay: 100 });
  return living.length;
}

async function killAll(processes: readonly ProcessIdentity[], path: string): Promise<void> {
  const haveEnded = (): boolean => {
    const rest = processes.filter(isProcessAlive);
    for (const identity of rest) signalProcessGroup(identity, "SIGKILL");
    return rest.length === 0;
  };
  if (await holdsInTime(haveEnded, { timeoutMs: KILL_TIMEOUT_MS, intervalMs: POLL_MS })) return;
  const pids = processes.filter(isProcessAlive).map(({ pid }) => pid);
  throw new Failure(`processes ${pids.join(", ")} of ${path} still run after SIGKILL`);
}

/** Left by killed runs, not of kept runs or living processes. @param runs directories of runs */
export async function stopAbandonedRuns(...runs: readonly string[]): Promise<number> {
  const abandoned = runs
    .flatMap((place) => RunDirectory.list(place))
    .filter(({ info }) => !info.kept && !isProcessAlive(info.runner));
  const ended = await Promise.all(abandoned.map(({ path }) => stopRun(path)));
  return ended.reduce((sum, count) => sum + count, 0);
}
