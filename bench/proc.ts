/** Figures of a process from /proc; NaN where Linux does not have them. */
import { readdirSync, readFileSync } from "node:fs";

const reader =
  (file: string, pattern: RegExp, unit = 1) =>
  (pid: number): number =>
    Number(pattern.exec(readFileSync(`/proc/${pid}/${file}`, "utf8"))?.[1] ?? NaN) * unit;

/** Bytes written to files and sockets. At rest a node writes almost only to the bus. */
export const writtenBytes = reader("io", /^wchar: (\d+)/m);
export const residentBytes = reader("status", /^VmRSS:\s+(\d+) kB/m, 1024);
export const residentPeakBytes = reader("status", /^VmHWM:\s+(\d+) kB/m, 1024);
/** CPU seconds of the main thread. */
export const cpuSeconds = reader("schedstat", /^(\d+)/, 1e-9);
export const mostOpenFiles = reader("limits", /^Max open files\s+(\d+)/m);
export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Unit of CPU times in /proc. Linux has the same one on every machine. */
export const TICKS_PER_SECOND = 100;

/** CPU time of a process with all its threads, ticks. @param text contents of /proc/PID/stat */
export function cpuTicks(text: string): number {
  // The name of the program, in parentheses, may contain spaces.
  const fields = text.slice(text.lastIndexOf(")", text.indexOf("\n")) + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}
