/** A process told apart from a later one with the same number: its pid and when it started. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { codeOf } from "./errors";

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque: boot and clock ticks on Linux, the start time as `ps` prints it elsewhere. */
  readonly started: string;
}

/** The identity of the process that has this pid now, or undefined when there is none (or only its zombie). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  try {
    const started =
      process.platform === "linux" ? startOnLinux(readFileSync(`/proc/${pid}/stat`, "utf8")) : startElsewhere(pid);
    return started === undefined ? undefined : { pid, started };
  } catch {
    return undefined;
  }
}

/** Whether that very process still runs. */
export function isProcessAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.started === identity.started;
}

/**
 * Signals that very process and no other.
 * @returns whether the signal was sent
 */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isProcessAlive(identity) && sendSignal(identity.pid, signal);
}

/**
 * The same with all that it forked, where it leads a group: a number that a group still has is given to no other process.
 * @returns whether the signal was sent
 */
export function signalProcessGroup(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isProcessAlive(identity) && (sendSignal(-identity.pid, signal) || signalProcess(identity, signal));
}

/** @param target a process, or below 0 a group @returns whether there was one */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    if (codeOf(error) === "ESRCH") return false;
    throw error;
  }
}

/**
 * A shell script that writes its own identity to the file `$1` and then becomes the command in `$2 …`.
 * The process records itself before it is a server, so no kill of its parent, at whatever moment, leaves
 * a server that is not on record.
 */
export const RECORD_AND_EXEC =
  process.platform === "linux"
    ? `IFS= read -r line </proc/$$/stat && printf '%s\\n' "$line" >"$1" || exit 126; shift; exec "$@"`
    : `line=$(ps -p $$ -o lstart=) && printf '%s %s\\n' "$$" "$line" >"$1" || exit 126; shift; exec "$@"`;

/** Reads a record that RECORD_AND_EXEC wrote; undefined when it is not complete. */
export function parseProcessRecord(text: string): ProcessIdentity | undefined {
  if (!text.endsWith("\n")) return undefined;
  const pid = Number.parseInt(text, 10);
  const started = process.platform === "linux" ? startOnLinux(text) : normaliseStart(text.trim().replace(/^\d+ /, ""));
  return Number.isInteger(pid) && started !== undefined ? { pid, started } : undefined;
}

/** Field 22 of /proc/PID/stat, counted from behind the command's name, which may hold spaces and parentheses. */
function startOnLinux(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const ticks = fields[19];
  if (ticks === undefined || state === "Z" || state === "X") return undefined;
  return `${bootId()}/${ticks}`;
}

let boot: string | undefined;
/** Ticks count from the boot, so a record from before a reboot must not match. */
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
