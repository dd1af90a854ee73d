/** A process is identified by its pid and its start time, because a later process can have the same pid. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { codeOf } from "../errors";

export interface ProcessIdentity {
  readonly pid: number;
  /** For comparisons only. On Linux the boot ID and the clock ticks, elsewhere what `ps` prints. */
  readonly started: string;
}

export function identifyProcess(pid: number): ProcessIdentity | undefined {
  try {
    const started =
      process.platform === "linux" ? startOnLinux(readFileSync(`/proc/${pid}/stat`, "utf8")) : startElsewhere(pid);
    return started === undefined ? undefined : { pid, started };
  } catch {
    return undefined;
  }
}

export function isProcessAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.started === identity.started;
}

/** Never to a later process with the same pid. @returns whether the signal was sent */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isProcessAlive(identity) && sendSignal(identity.pid, signal);
}

/** Signals only the process if it leads no group. The kernel does not reuse the number of a group that has members. */
export function signalProcessGroup(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isProcessAlive(identity) && (sendSignal(-identity.pid, signal) || signalProcess(identity, signal));
}

/** @param target a pid, or a negative number for a process group @returns false if there is no such process */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(target, signal);
    return true;
  } catch (error) {
    if (codeOf(error) === "ESRCH") return false;
    throw error;
  }
}

export function parseProcessRecord(text: string): ProcessIdentity | undefined {
  if (!text.endsWith("\n")) return undefined;
  const pid = Number.parseInt(text, 10);
  const started = process.platform === "linux" ? startOnLinux(text) : normaliseStart(text.trim().replace(/^\d+ /, ""));
  return Number.isInteger(pid) && started !== undefined ? { pid, started } : undefined;
}

/** Field 22 of /proc/PID/stat, counted after the command's name, which can contain spaces and parentheses. */
function startOnLinux(stat: string): string | undefined {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state] = fields;
  const ticks = fields[19];
  if (ticks === undefined || state === "Z" || state === "X") return undefined;
  return `${bootId()}/${ticks}`;
}

let boot: string | undefined;
/** Clock ticks start again at each boot, so a record from an earlier boot must not match. */
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
