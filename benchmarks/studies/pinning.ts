/** Which CPUs servers and load generators are held to. Pure but for asking which there are. */
import { readFileSync } from "node:fs";
import { nodeCount } from "../../valkey/topology/placement";
import type { Treatment } from "./factors";

export interface Pinning {
  /** By node, as taskset takes lists: `0,1`. */
  readonly servers: readonly string[];
  readonly clients: string;
  /** Why the treatment says less than it should; undefined where everyone has CPUs of their own. */
  readonly sharedCpus: string | undefined;
}

/**
 * Each server its own CPUs from the first on, the load generators what is left. Where the machine has too few, servers take
 * steps at those there are; a load generator without a CPU of its own shares all of them.
 * @param cpus the machine's, at least one
 * @param servers how many there are
 * @param each CPUs of each server
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
  const who = `${servers} ${servers === 1 ? "server" : "servers"} of ${each} ${each === 1 ? "CPU" : "CPUs"} each`;
  const shared =
    wanted > cpus.length
      ? `${who}: ${wanted} of the machine's ${cpus.length} CPUs, and the load generator's`
      : left.length === 0
        ? `${who}: all ${cpus.length} CPUs of the machine, so the load generator shares them`
        : undefined;
  return { servers: masks, clients, sharedCpus: shared };
}

/** The numbers of a list as the kernel writes it: `0-2,5` is 0, 1, 2 and 5. */
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

/** Which CPUs a treatment's servers and load generators get; undefined where it pins nothing. */
export function pinningOf({ cpus: each, shape }: Treatment, cpus: readonly number[]): Pinning | undefined {
  return each === undefined ? undefined : planPinning(cpus, nodeCount(shape), each);
}

/**
 * CPUs this process may use, no more than it has the time of: a container with a quota of two may run on all of its machine's.
 * The first numbers where the system does not say which.
 * @param cores how many it has the time of, see `availableCores`
 */
export function availableCpus(cores: number): number[] {
  const most = Math.max(1, Math.floor(cores));
  try {
    const list = /^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (list !== undefined) return parseCpuList(list).slice(0, most);
  } catch {
    // Not Linux.
  }
  return Array.from({ length: most }, (_, index) => index);
}
