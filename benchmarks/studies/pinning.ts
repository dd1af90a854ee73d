import { counted } from "../../lib/units";
import { readFileSync } from "node:fs";
import { nodeCount } from "../../valkey/topology/placement";
import type { Treatment } from "./factors";

export interface Pinning {
  readonly servers: readonly string[];
  readonly clients: string;
  readonly sharedCpus: string | undefined;
}

/**
 * Each server gets its own CPUs, and load generators the rest. With too few, servers share CPUs in rotation, and load
 * generators share all.
 * @param each number of CPUs of each server
 */
export function planPinning(cpus: readonly number[], servers: number, each: number): Pinning {
  const wanted = servers * each;
  const at = (index: number): number => cpus[index % cpus.length] ?? 0;
  const masks = Array.from({ length: servers }, (_, server) =>
    [...new Set(Array.from({ length: each }, (_each, place) => at(server * each + place)))]
      .sort((a, b) => a - b)
      .join(","),
  );
  const left = cpus.slice(Math.min(wanted, cpus.length));
  const clients = (left.length === 0 ? cpus : left).join(",");
  const servedBy = `${counted(servers, "server")} of ${counted(each, "CPU")} each`;
  const shared =
    wanted > cpus.length
      ? `${servedBy} need ${wanted} CPUs, and the load generator needs one more; the machine has ${cpus.length}`
      : left.length === 0
        ? `${servedBy} use all ${cpus.length} CPUs of the machine, so the load generator shares them`
        : undefined;
  return { servers: masks, clients, sharedCpus: shared };
}

/** CPUs of a list in the kernel's format: `0-2,5` means 0, 1, 2 and 5. */
export function parseCpuList(text: string): number[] {
  return text
    .trim()
    .split(",")
    .filter((part) => part !== "")
    .flatMap((part) => {
      const [from = NaN, to = from] = part.split("-").map(Number);
      return Number.isInteger(from) && Number.isInteger(to)
        ? Array.from({ length: to - from + 1 }, (_, index) => from + index)
        : [];
    });
}

export function pinningOf({ cpus: each, shape }: Treatment, cpus: readonly number[]): Pinning | undefined {
  return each === undefined ? undefined : planPinning(cpus, nodeCount(shape), each);
}

/** At most as many as the CPU quota allows; numbered from 0 on systems other than Linux. @param cores the quota */
export function availableCpus(cores: number): number[] {
  const most = Math.max(1, Math.floor(cores));
  try {
    const list = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (list !== undefined) return parseCpuList(list).slice(0, most);
  } catch {
    // This system is not Linux.
  }
  return Array.from({ length: most }, (_, index) => index);
}
