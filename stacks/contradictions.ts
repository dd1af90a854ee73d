/** Settings that are each allowed and cannot all be had. Found before anything starts. Pure. */
import { parseQuantity } from "../benchmarks/kubernetes/quantity";
import { nodeCount } from "../benchmarks/topology/placement";
import { formatBytes } from "../benchmarks/units";
import { NAMED_TESTS } from "../benchmarks/workloads/named-tests";
import { dataBytes, fitKeySpace, unevenness } from "../benchmarks/workloads/workload";
import { workloadProblems } from "./contradictions-workloads";
import { shapeOf, workloadOf } from "./plans";
import type { BenchmarkConfig, DeploymentConfig, PlatformConfig } from "./schema";
import type { WorkloadConfig } from "./schema-workloads";

/** What the machine has that the servers of the platform `host` will share. */
export interface MachineFacts {
  readonly cores: number;
  readonly memoryBytes: number;
}

/** The parts of a configuration that could be understood. */
export interface PartialConfig {
  readonly platform: PlatformConfig | undefined;
  readonly deployments: readonly (readonly [name: string, config: DeploymentConfig])[];
  readonly benchmark: BenchmarkConfig | undefined;
  readonly workloads: readonly (readonly [name: string, config: WorkloadConfig])[];
}

type Label = (path: readonly PropertyKey[]) => string;

/** Part of a machine's memory that servers may be given; the rest is the system's and the load generator's. */
const MEMORY_SHARE = 0.9;

/** One sentence each, with its path and what would do. */
export function contradictions(config: PartialConfig, machine: MachineFacts, label: Label): string[] {
  const room = roomOf(config.platform, machine);
  return [
    ...config.deployments.flatMap(([name, deployment]) => [
      ...zoneProblems(name, deployment, config.platform, label),
      ...settingProblems(name, deployment, room.cores, label),
    ]),
    ...memoryProblems(config, room, label),
    ...sharingProblems(config, label),
    ...fitProblems(config, room, label),
    ...workloadProblems(config.workloads, config.deployments, label),
  ];
}

/** What servers have: this machine between them, or a pod's limits each. */
interface Room {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly of: "machine" | "pod";
}

function roomOf(platform: PlatformConfig | undefined, machine: MachineFacts): Room {
  if (platform?.type !== "kubernetes") return { ...machine, of: "machine" };
  const { cpu, memory } = platform.resources.limits;
  return { cores: parseQuantity(cpu), memoryBytes: parseQuantity(memory), of: "pod" };
}

function zoneProblems(name: string, deployment: DeploymentConfig, platform: PlatformConfig | undefined, label: Label): string[] {
  if (platform === undefined) return [];
  const zones = new Set(platform.zones);
  const nodes = nodeCount(shapeOf(deployment));
  const problems: string[] = [];
  if (zones.size < platform.zones.length) problems.push(`${label(["platform", "zones"])}: a zone is named twice`);
  if (zones.size > nodes) problems.push(`${label(["platform", "zones"])}: ${zones.size} zones are more than the ${nodes} nodes of ${name}; at most ${nodes}`);
  if (zones.size < 2 && nodes > 1) problems.push(`${label(["platform", "zones"])}: one zone cannot keep the replicas of ${name} apart from their primaries; at least 2`);
  return problems;
}

function settingProblems(name: string, deployment: DeploymentConfig, cores: number, label: Label): string[] {
  const { settings } = deployment;
  const path = (key: string): string => label(["deployments", name, "settings", key]);
  const problems: string[] = [];
  const ioThreads = settings["io-threads"];
  if (ioThreads !== undefined && ioThreads > 1 && ioThreads >= cores) {
    problems.push(`${path("io-threads")}: ${ioThreads} threads on ${cores} cores; they spin, so at most ${Math.max(1, Math.ceil(cores) - 1)}`);
  }
  const replicas = shapeOf(deployment).replicasPerPrimary;
  const needed = settings["min-replicas-to-write"];
  if (needed !== undefined && needed > replicas) {
    problems.push(`${path("min-replicas-to-write")}: no write would be taken with ${needed} where a primary has ${replicas} replicas; at most ${replicas}`);
  }
  for (const key of Object.keys(settings.other ?? {})) {
    if (key in settings) problems.push(`${label(["deployments", name, "settings", "other", key])}: is set twice; there is a setting of that name`);
  }
  return problems;
}

function memoryProblems({ deployments }: PartialConfig, room: Room, label: Label): string[] {
  const limits = deployments.flatMap(([name, deployment]) => {
    const limit = deployment.settings.maxmemory ?? 0;
    return limit === 0 ? [] : [{ name, limit, total: limit * nodeCount(shapeOf(deployment)) }];
  });
  const path = (name: string): string => label(["deployments", name, "settings", "maxmemory"]);
  const most = room.memoryBytes * MEMORY_SHARE;
  if (room.of === "pod") {
    return limits.flatMap(({ name, limit }) => (limit > most ? [`${path(name)}: ${formatBytes(limit)} in a pod limited to ${formatBytes(room.memoryBytes)}; at most ${formatBytes(most)}, or a higher ${label(["platform", "resources", "limits", "memory"])}`] : []));
  }
  const sum = limits.reduce((total, limit) => total + limit.total, 0);
  if (sum <= most) return [];
  const parts = limits.map(({ name, total }) => `${name} ${formatBytes(total)}`).join(" and ");
  return [`${limits.map(({ name }) => path(name)).join(", ")}: together ${formatBytes(sum)} (${parts}) on a machine of ${formatBytes(room.memoryBytes)}; at most ${formatBytes(most)}`];
}

function sharingProblems({ deployments, benchmark }: PartialConfig, label: Label): string[] {
  if (benchmark === undefined || benchmark.tests.length === 0) return [];
  return deployments.flatMap(([name, deployment]) => {
    if (deployment.mode !== "cluster") return [];
    return unevenness(benchmark.clients, benchmark.threads, deployment.primaries).map(
      ({ setting, why, nearest }) => `${label(["benchmark", setting])}: ${why} of ${name}, and keys would fall unevenly; the nearest that can: ${nearest.join(" or ")}`,
    );
  });
}

function fitProblems({ deployments, benchmark }: PartialConfig, room: Room, label: Label): string[] {
  if (benchmark === undefined || benchmark.tests.length === 0 || deployments.length === 0) return [];
  const anyCluster = deployments.some(([, { mode }]) => mode === "cluster");
  const workload = { ...workloadOf(benchmark), keySpace: fitKeySpace(benchmark.keySpace, anyCluster) };
  const families = new Set(benchmark.tests.flatMap((test) => { const { prefill } = NAMED_TESTS[test]; return prefill !== undefined && "family" in prefill ? [prefill.family] : []; }));
  const path = `${label(["benchmark", "keySpace"])} × ${label(["benchmark", "dataSize"])}`;
  const what = `${workload.keySpace} keys of ${workload.dataSize} B`;
  const problems = deployments.flatMap(([name, deployment]) => {
    const maxmemory = deployment.settings.maxmemory ?? 0;
    const needed = dataBytes(workload, families.size, 1 / shapeOf(deployment).primaries);
    const need = `${path}: ${what} need about ${formatBytes(needed)} on each primary of ${name}`;
    if (maxmemory > 0 && needed > maxmemory) return [`${need}, whose maxmemory is ${formatBytes(maxmemory)}`];
    return room.of === "pod" && needed > room.memoryBytes * MEMORY_SHARE ? [`${need}, whose pods are limited to ${formatBytes(room.memoryBytes)}`] : [];
  });
  const total = deployments.reduce((sum, [, deployment]) => sum + dataBytes(workload, families.size, 1) * (1 + shapeOf(deployment).replicasPerPrimary), 0);
  if (room.of === "machine" && total > room.memoryBytes * MEMORY_SHARE) problems.push(`${path}: ${what} need about ${formatBytes(total)} on all nodes together; this machine has ${formatBytes(room.memoryBytes)}`);
  return problems;
}
