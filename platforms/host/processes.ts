import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { join } from "node:path";
import { type ProcessIdentity, isProcessAlive, sendSignal } from "../../lib/system/process-identity";
import type { RunDirectory } from "./run-directory";

export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** Promise that resolves when the process has ended and all its output has been read. It never rejects. */
  readonly ended: Promise<ProcessExit>;
  readonly child?: ChildProcess;
}

export interface RecordedProcess extends RunningProcess {
  readonly child: ChildProcess;
}

/**
 * Does nothing for others and ended processes. The PID is not checked, which takes microseconds, because the kernel
 * does not reuse it before the parent has read the exit status.
 */
export function signalChildGroup({ pid, child }: RunningProcess, signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  sendSignal(-pid, signal);
}

const ENDED_POLL_MS = 50;

/** Its exit status is unknown. The observation does not keep this program from ending. */
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

/** `$1` is the file for the record, `$2 …` the command that the script runs after recording itself. */
export const RECORD_AND_EXEC = join(__dirname, "record-and-exec.sh");

let serial = 0;

/**
 * If this process is killed, a later run finds the record and stops the command. Its own session keeps Ctrl-C away.
 * @param args without secrets, because other users can see them
 * @param options `env` replaces the environment
 * @throws Error when no process can be started; a missing program ends with exit status 127
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

/** @param cpus in the notation of taskset, such as `0,2-3`; undefined for all CPUs */
export function pinnedCommand(
  cpus: string | undefined,
  command: string,
  args: readonly string[],
): [command: string, ...args: string[]] {
  return cpus === undefined ? [command, ...args] : ["taskset", "-c", cpus, command, ...args];
}

export function formatExit(exit: ProcessExit): string {
  return exit.signal ?? `exit status ${exit.code ?? "unknown"}`;
}
