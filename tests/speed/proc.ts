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

/** CPU seconds of its main thread. */
export function cpuSeconds(pid: number): number {
  return figure(pid, "schedstat", /^(\d+)/) / 1e9;
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
