/** What Linux says of a process under /proc. NaN where it does not. */
import { readdirSync, readFileSync } from "node:fs";

/** By write() and its kin, to sockets as well as to files: at rest a node writes to the bus and next to nothing else. */
export function writtenBytes(pid: number): number {
  return figure(pid, "io", /^wchar: (\d+)/m);
}

export function residentBytes(pid: number): number {
  return figure(pid, "status", /^VmRSS:\s+(\d+) kB/m) * 1024;
}

/** Of its main thread, so far. */
export function cpuSeconds(pid: number): number {
  return figure(pid, "schedstat", /^(\d+)/) / 1e9;
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export function mostOpenFiles(pid: number): number {
  return figure(pid, "limits", /^Max open files\s+(\d+)/m);
}

function figure(pid: number, file: string, pattern: RegExp): number {
  return Number(pattern.exec(readFileSync(`/proc/${pid}/${file}`, "utf8"))?.[1] ?? NaN);
}
