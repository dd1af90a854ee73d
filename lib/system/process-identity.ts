/**
 * Identifies processes by their pid and start time. The pid is not enough, because a later process can have the same
 * pid.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { codeOf } from "../errors";

/** Identity of a process. A later process with the same pid has a different identity. */
export interface ProcessIdentity {
  readonly pid: number;
  /**
   * Start time, for comparisons only. On Linux, the boot ID and the clock ticks. On other systems, the start time that
   * `ps` prints.
   */
  readonly started: string;
}

/** The process that has the given pid now. Undefined if no process has this pid, or if the process is a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  try {
    const started =
      process.platform === "linux" ? startOnLinux(readFileSync(`/proc/${pid}/stat`, "utf8")) : startElsewhere(pid);
    return started === undefined ? undefined : { pid, started };
  } catch {
    return undefined;
  }
}

/** Whether exactly the identified process still runs. */
export function isProcessAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.started === identity.started;
}

/**
 * Sends a signal to exactly the identified process, and never to a later process with the same pid.
 * @returns whether the signal was sent
 */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isProcessAlive(identity) && sendSignal(identity.pid, signal);
}

/**
 * Sends a signal to the process group that the identified process leads. If the process does not lead a group, only the
 * process gets the signal. The kernel does not give the number of a group to a new process while the group has members.
 * @returns whether the signal was sent
 */
export function signalProcessGroup(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isProcessAlive(identity) && (sendSignal(-identity.pid, signal) || signalProcess(identity, signal));
}

/**
 * Sends a signal.
 * @param target a pid, or a negative number for a process group
 * @returns false if there is no such process
 */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    if (codeOf(error) === "ESRCH") return false;
    throw error;
  }
}

/** Parses a record that platforms/host/record-and-exec.sh wrote. Undefined if the record is incomplete. */
export function parseProcessRecord(text: string): ProcessIdentity | undefined {
  if (!text.endsWith("\n")) return undefined;
  const pid = Number.parseInt(text, 10);
  const started = process.platform === "linux" ? startOnLinux(text) : normaliseStart(text.trim().replace(/^\d+ /, ""));
  return Number.isInteger(pid) && started !== undefined ? { pid, started } : undefined;
}

/**
 * Start time in field 22 of /proc/PID/stat. Fields are counted after the command's name, because the name can contain
 * spaces and parentheses.
 */
function startOnLinux(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const ticks = fields[19];
  if (ticks === undefined || state === "Z" || state === "X") return undefined;
  return `${bootId()}/${ticks}`;
}

let boot: string | undefined;
/** ID of the current boot. Clock ticks start again at each boot, so a record from an earlier boot must not match. */
function bootId(): string {
  boot ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return boot;
}

function startElsewhere(pid: number): string | undefined {
  const [state = "Z", ...start] = execFileSync("ps", ["-p", String(pid), "-o", "state=,lstart="], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  })
    .trim()
    .split(/\s+/);
  return state.startsWith("Z") || start.length === 0 ? undefined : normaliseStart(start.join(" "));
}

function normaliseStart(text: string): string {
  return text.trim().split(/\s+/).join(" ");
}
