/** Starting processes that put themselves on the run's record, and noticing when they end. */
import type { ChildProcess, StdioOptions } from "node:child_process";
import { spawn } from "node:child_process";
import type { ProcessIdentity } from "../../lib/process-identity";
import { isProcessAlive, RECORD_AND_EXEC, sendSignal } from "../../lib/process-identity";
import type { RunDirectory } from "./run-directory";

/** How a process ended: its exit code or the signal that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process has ended and its output is drained; never rejects. */
  readonly ended: Promise<ProcessExit>;
  /** Where it is a child of this process. */
  readonly child?: ChildProcess;
}

/** One that this process started. */
export interface RecordedProcess extends RunningProcess {
  readonly child: ChildProcess;
}

/**
 * Signals a child of this process with all that it forked, in microseconds: its number is nobody else's until its end has been
 * noticed here, so that nobody has to be asked who has it. One that has ended is left alone, and so is another process' child.
 */
export function signalChildGroup({ pid, child }: RunningProcess, signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  sendSignal(-pid, signal);
}

const ENDED_POLL_MS = 50;

/** One that another process started: how it ends is not told, only that. Watching it keeps nobody from ending. */
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

let serial = 0;

/**
 * Starts a command in a session of its own (a Ctrl-C on the terminal reaches the runner only, which then
 * decides) and on the run's record, so that a later run can end it when this one is killed.
 * @param command the program's path; secrets have no place in `args`
 * @param options `env` in place of this process' own
 * @throws Error when no process can be made at all; a program that is not there ends with code 127
 */
export function startRecorded(
  run: RunDirectory,
  name: string,
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv; readonly stdio: StdioOptions },
): RecordedProcess {
  const record = run.processRecord(`${name}.${++serial}`);
  const child = spawn("/bin/sh", ["-c", RECORD_AND_EXEC, "sh", record, command, ...args], {
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
  if (child.pid === undefined) throw new Error(`no process can be started for ${name}`);
  return { name, pid: child.pid, child, ended };
}

/** A command and its arguments, held to CPUs where some are given: taskset becomes the program it starts. */
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
