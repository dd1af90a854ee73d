import { readFileSync } from "node:fs";
import { arch, cpus, freemem, hostname, loadavg, release, totalmem, type } from "node:os";
import { availableCores } from "../../platforms/host/cpu";
import type { Environment, MeasuredTopology } from "./schema";
import type { TopologyRecord } from "../../valkey/verification/topology-record";

export function describeEnvironment(programs: Environment["programs"]): Environment {
  const [cpu] = cpus();
  return {
    platform: `${type()} ${arch()}`,
    kernel: release(),
    hostname: hostname(),
    cpuModel: cpu?.model.trim() ?? "unknown",
    cores: cpus().length,
    coresAvailable: availableCores(),
    memoryBytes: totalmem(),
    memoryFreeBytes: freemem(),
    loadAverage: loadavg(),
    governor: firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    transparentHugePages: chosen(firstLine("/sys/kernel/mm/transparent_hugepage/enabled")),
    overcommitMemory: firstLine("/proc/sys/vm/overcommit_memory"),
    somaxconn: firstLine("/proc/sys/net/core/somaxconn"),
    node: process.version,
    programs,
    machines: [],
  };
}

function firstLine(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim().split("\n")[0] ?? null;
  } catch {
    return null;
  }
}

function chosen(text: string | null): string | null {
  return text === null ? null : (/\[(\w+)\]/.exec(text)?.[1] ?? text);
}

/** Numbers of keys are null, because keys are counted later. */
export function asMeasuredTopology(topology: TopologyRecord): MeasuredTopology {
  return { ...topology, nodes: topology.nodes.map((node) => ({ ...node, keysAfter: null })) };
}
