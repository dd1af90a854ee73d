/**
 * The directory of one run on this machine: who runs it, which processes it started, their data and logs.
 *
 *   RUNS/ID/run.json            the runner's identity, the stack, whether the deployment is kept
 *   RUNS/ID/processes/NAME      a process the run started, recorded by that process itself
 *   RUNS/ID/processes.closed/   the same, once the run is being stopped
 *   RUNS/ID/scars/NAME          what a fault left beside processes
 *   RUNS/ID/DEPLOYMENT/NODE/    a node's configuration, data and log
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { codeOf, Failure, messageOf } from "../../lib/errors";
import { holdsInTime } from "../../lib/polling";
import type { ProcessIdentity } from "../../lib/process-identity";
import {
  identifyProcess,
  isProcessAlive,
  parseProcessRecord,
  signalProcessGroup,
  signalProcess,
} from "../../lib/process-identity";
import { removeSideEffects } from "./side-effects";

const runSchema = z.object({
  id: z.string(),
  runner: z.object({ pid: z.number(), started: z.string() }),
  stack: z.string(),
  kept: z.boolean(),
});

export type RunInfo = z.infer<typeof runSchema>;

const OPEN = "processes";
const CLOSED = "processes.closed";

/** How long a process that has begun to record itself may take to write a line, milliseconds. */
const RECORDING_MS = 2000;
/** How long a process told to end may take before it is killed, and before that is given up on, milliseconds. */
const GRACE_MS = 2000;
const KILL_TIMEOUT_MS = 8_000;
const POLL_MS = 20;

export class RunDirectory {
  private constructor(
    readonly path: string,
    private info: RunInfo,
  ) {}

  /**
   * Makes the directory of a new run by this process.
   * @throws Failure when it cannot be written
   */
  static create(runs: string, stack: string): RunDirectory {
    const runner = identifyProcess(process.pid);
    if (runner === undefined) throw new Failure("this process cannot be identified (is /proc mounted?)");
    const id = `${new Date()
      .toISOString()
      .replace(/[-:]|\..*/g, "")
      .replace("T", "-")}-${randomBytes(2).toString("hex")}`;
    const path = join(runs, id);
    // Under a hidden name until run.json is there: another run must not take it for an abandoned one.
    const hidden = join(runs, `.${id}`);
    try {
      mkdirSync(join(hidden, OPEN), { recursive: true, mode: 0o700 });
      const info = { id, runner, stack, kept: false };
      writeInfo(hidden, info);
      renameSync(hidden, path);
      return new RunDirectory(path, info);
    } catch (error) {
      throw new Failure(`the run's directory ${path} cannot be written: ${messageOf(error)}`, { cause: error });
    }
  }

  /**
   * A run that is on record, to go on with it.
   * @throws Failure when there is none in this directory
   */
  static open(path: string): RunDirectory {
    const info = readInfo(path);
    if (info === undefined) throw new Failure(`there is no run in ${path}`);
    // Whoever was to stop it was killed, or failed.
    if (!existsSync(join(path, OPEN)))
      unlessGone(() => {
        renameSync(join(path, CLOSED), join(path, OPEN));
      }, undefined);
    return new RunDirectory(path, info);
  }

  /** The runs on record, oldest first. What is no run (no readable run.json) is nobody's and is left alone. */
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

  /** The file a process named so records itself in. */
  processRecord(name: string): string {
    return join(this.path, OPEN, name);
  }

  /** A directory for one node, private to the user. */
  nodeDirectory(deployment: string, node: string): string {
    const path = join(this.path, deployment, node);
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** Leaves the deployment up when this process ends, and every later run alone with it. */
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
  writeFileSync(`${file}.new`, JSON.stringify(info, null, 2));
  renameSync(`${file}.new`, file);
}

function readInfo(path: string): RunInfo | undefined {
  try {
    return runSchema.parse(JSON.parse(readFileSync(join(path, "run.json"), "utf8")));
  } catch {
    return undefined;
  }
}

/** The processes on record in a run's directory that are still alive. */
export function runningProcesses(path: string): ProcessIdentity[] {
  return runningRecords(path).map(({ identity }) => identity);
}

/** The same with the names they were started under. */
export function runningRecords(path: string): { readonly name: string; readonly identity: ProcessIdentity }[] {
  return records(path).flatMap(({ name, identity }) =>
    identity !== undefined && isProcessAlive(identity) ? [{ name, identity }] : [],
  );
}

/** What is on record in a run's directory; without identity what is not written to the end. */
function records(path: string): { readonly name: string; readonly identity: ProcessIdentity | undefined }[] {
  return [OPEN, CLOSED].flatMap((place) => {
    const directory = join(path, place);
    return unlessGone<string[]>(() => readdirSync(directory), []).map((file) => ({
      name: file.replace(/\.\d+$/, ""),
      identity: parseProcessRecord(unlessGone(() => readFileSync(join(directory, file), "utf8"), "")),
    }));
  });
}

/** @param otherwise where the file or directory is not there any more */
function unlessGone<T>(act: () => T, otherwise: T): T {
  try {
    return act();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return otherwise;
    throw error;
  }
}

/** From here on, unless the run is opened again, nothing that is not on record can put itself there, and so becomes no server: not what was about to start, either. */
async function closeRecords(path: string): Promise<void> {
  unlessGone(() => {
    renameSync(join(path, OPEN), join(path, CLOSED));
  }, undefined);
  const areComplete = (): boolean => records(path).every(({ identity }) => identity !== undefined);
  await holdsInTime(areComplete, { timeoutMs: RECORDING_MS, intervalMs: POLL_MS });
}

/**
 * Ends the recorded processes of a run, in parallel, by SIGTERM and after a grace period by SIGKILL, frozen ones
 * too, takes away what faults left, and removes its directory. No other process is touched. Doing it twice at once does no harm.
 * @returns how many processes it had to end
 * @throws Failure when a process outlives SIGKILL; the directory stays then
 */
export async function stopRun(path: string): Promise<number> {
  await closeRecords(path);
  const living = runningProcesses(path);
  for (const identity of living) signalProcess(identity, "SIGTERM");
  // With what they forked: a server that was halted while it saved has a child that stands still as well.
  for (const identity of living) signalProcessGroup(identity, "SIGCONT");
  const haveEnded = (): boolean => !living.some(isProcessAlive);
  if (!(await holdsInTime(haveEnded, { timeoutMs: GRACE_MS, intervalMs: POLL_MS }))) await killAll(living, path);
  await removeSideEffects(path);
  rmSync(path, { recursive: true, force: true });
  return living.length;
}

/** @throws Failure naming the processes that outlive SIGKILL */
async function killAll(processes: readonly ProcessIdentity[], path: string): Promise<void> {
  const haveEnded = (): boolean => {
    const rest = processes.filter(isProcessAlive);
    for (const identity of rest) signalProcessGroup(identity, "SIGKILL");
    return rest.length === 0;
  };
  if (await holdsInTime(haveEnded, { timeoutMs: KILL_TIMEOUT_MS, intervalMs: POLL_MS })) return;
  const pids = processes.filter(isProcessAlive).map(({ pid }) => pid);
  throw new Failure(`processes ${pids.join(", ")} of ${path} outlive SIGKILL`);
}

/**
 * Stops what runs that were killed left behind. Runs whose runner lives and runs that are kept stay.
 * @param runs every place where there are directories of runs
 * @returns how many processes were ended
 */
export async function stopAbandonedRuns(...runs: readonly string[]): Promise<number> {
  const abandoned = runs
    .flatMap((place) => RunDirectory.list(place))
    .filter(({ info }) => !info.kept && !isProcessAlive(info.runner));
  const ended = await Promise.all(abandoned.map(({ path }) => stopRun(path)));
  return ended.reduce((sum, count) => sum + count, 0);
}
