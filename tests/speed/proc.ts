/** Figures of a process from /proc; NaN where Linux does not have them. */
import { readdirSync, readFileSync } from "node:fs";

/** Bytes written to files and sockets. At rest a node writes almost only to the bus. */
export function writtenBytes(pid: number): number {
  return figure(pid, "io", /^wchar: (\d+)/m);
}

/** Resident memory. */
export function residentBytes(pid: number): number {
  return figure(pid, "status", /^VmRSS:\s+(\d+) kB/m) * 1024;
}

/** Highest resident memory so far. */
export function residentPeakBytes(pid: number): number {
  return figure(pid, "status", /^VmHWM:\s+(\d+) kB/m) * 1024;
}

/** CPU seconds of its main thread. */
export function cpuSeconds(pid: number): number {
  return figure(pid, "schedstat", /^(\d+)/) / 1e9;
}

/** Unit of CPU times in /proc. Linux has the same one on every machine. */
export const TICKS_PER_SECOND = 100;

/** CPU time of a process with all its threads, ticks. @param text contents of /proc/PID/stat */
export function cpuTicks(text: string): number {
  // The name of the program, in parentheses, may contain spaces.
  const fields = text.slice(text.lastIndexOf(")", text.indexOf("\n")) + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

/** Open file descriptors. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Limit of open file descriptors. */
export function mostOpenFiles(pid: number): number {
  return figure(pid, "limits", /^Max open files\s+(\d+)/m);
}

function figure(pid: number, file: string, pattern: RegExp): number {
  return Number(pattern.exec(readFileSync(`/proc/${pid}/${file}`, "utf8"))?.[1] ?? NaN);
}
