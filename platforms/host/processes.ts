/** Starts processes that record themselves in the run directory, and observes when they end. */
import type { ChildProcess, StdioOptions } from "node:child_process";
import { spawn } from "node:child_process";
import { join } from "node:path";
import type { ProcessIdentity } from "../../lib/system/process-identity";
import { isProcessAlive, sendSignal } from "../../lib/system/process-identity";
import type { RunDirectory } from "./run-directory";

/** How a process ended: its exit code or the signal that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process that was started by this process or, where `child` is undefined, by an earlier one. */
export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process has ended and its output is drained; never rejects. */
  readonly ended: Promise<ProcessExit>;
  /** Undefined where another process started it. */
  readonly child?: ChildProcess;
}

/** A process that this process started. */
export interface RecordedProcess extends RunningProcess {
  readonly child: ChildProcess;
}

/**
 * Sends a signal to the process group of a child of this process. Takes microseconds: the kernel gives a child's pid to
 * no other process before this process has read the child's exit, so nothing has to be looked up. Does nothing when the
 * child has ended or the process is not a child of this one.
 */
export function signalChildGroup({ pid, child }: RunningProcess, signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  sendSignal(-pid, signal);
}

const ENDED_POLL_MS = 50;

/**
 * Observes a process that another process started. Its exit status is unknown. The observation does not keep this
 * process running.
 */
export function adoptProcess(name: string, identity: ProcessIdentity): RunningProcess {
  const ended = new Promise<ProcessExit>((resolve) => {
    const timer = setInterval(() => {
      if (isProcessAlive(identity)) return;
      clearInterval(timer);
      resolve({ code: null, signal: null });
    }, ENDED_POLL_MS).unref();
  });
  return { name, pid: identity.pid, ended };
}

/** See its head. `$1` is the file for the record, `$2 …` the command. */
export const RECORD_AND_EXEC = join(__dirname, "record-and-exec.sh");

/** Keeps the records of processes with the same name apart. */
let serial = 0;

/**
 * Starts a command that is recorded in the run directory, so that a later run can stop it when this process is killed.
 * The command has its own session: Ctrl-C on the terminal reaches this process only.
 * @param command the program's path. `args` are visible to other users and must contain no secrets
 * @param options `env` replaces the environment of this process
 * @throws Error when no process can be started; a program that does not exist ends with exit status 127
 */
export function startRecorded(
  run: RunDirectory,
  name: string,
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly stdio: StdioOptions },
): RecordedProcess {
  const record = run.processRecord(`${name}.${++serial}`);
  const child = spawn("/bin/sh", [RECORD_AND_EXEC, record, command, ...args], {
    cwd: options.cwd,
    env: options.env,
    stdio: options.stdio,
    detached: true,
  });
  const ended = new Promise<ProcessExit>((resolve) => {
    child.once("error", () => {
      resolve({ code: 127, signal: null });
    });
    child.once("close", (code, signal) => {
      resolve({ code, signal });
    });
  });
  if (child.pid === undefined) throw new Error(`cannot start a process for ${name}`);
  return { name, pid: child.pid, child, ended };
}

/**
 * A command that runs on certain CPUs only, by taskset.
 * @param cpus as taskset takes them: `0,2-3`; undefined is all CPUs
 */
export function pinnedCommand(
  cpus: string | undefined,
  command: string,
  args: readonly string[],
): [command: string, ...args: string[]] {
  return cpus === undefined ? [command, ...args] : ["taskset", "-c", cpus, command, ...args];
}

/** `exit status 1` or `SIGKILL`. */
export function formatExit(exit: ProcessExit): string {
  return exit.signal ?? `exit status ${exit.code ?? "unknown"}`;
}
