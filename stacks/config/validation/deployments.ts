/** Settings that are each allowed and cannot all be had. Found before anything starts. Pure. */
import { parseQuantity } from "../../../platforms/kubernetes/quantity";
import { MIN_SENTINEL_ZONES } from "../../../valkey/sentinel/plan";
import { nodeCount } from "../../../valkey/topology/placement";
import { formatBytes } from "../../../lib/units";
import { keyFamilies } from "../../../benchmarks/workloads/named-tests";
import { dataBytes, fitKeySpace, unevenSettings } from "../../../benchmarks/workloads/workload";
import { isGuaranteed } from "../../../components/kubernetes/pods/sidecar-resources";
import { capacityProblems, workloadProblems } from "./workloads";
import { fittedWorkload, configuredShape, benchmarkWorkload } from "../../plan/benchmark-plans";
import { podPlatformProblems } from "./pods";
import { deploymentZones, isPodPlatform, podSettings, platformZones } from "../../plan/pods";
import type { BenchmarkConfig, DeploymentConfig, PlatformConfig } from "../schema/stack";
import type { CapacityConfig } from "../schema/capacity";
import type { FailureConfig } from "../schema/failures";
import type { WorkloadConfig } from "../schema/workloads";

/** What the machine has that the servers of the platform `host` will share. */
export interface MachineFacts {
  readonly cores: number;
  readonly memoryBytes: number;
}

/** The parts of a configuration that could be understood. */
export interface ParsedSections {
  readonly platform: PlatformConfig | undefined;
  readonly deployments: readonly (readonly [name: string, config: DeploymentConfig])[];
  readonly benchmark: BenchmarkConfig | undefined;
  readonly workloads: readonly (readonly [name: string, config: WorkloadConfig])[];
  readonly capacity?: CapacityConfig | undefined;
  readonly failures: readonly (readonly [name: string, config: FailureConfig])[];
}

type Label = (path: readonly PropertyKey[]) => string;

/** Part of a machine's memory that servers may be given; the rest is the system's and the load generator's. */
const MEMORY_SHARE = 0.9;

/** One sentence each, with its path and what would do. */
export function crossFieldProblems(config: ParsedSections, machine: MachineFacts, label: Label): string[] {
  return [
    ...config.deployments.flatMap(([name, deployment]) => [
      ...zoneProblems(name, deployment, config.platform, label),
      ...sentinelProblems(name, deployment, config.platform, label),
      ...settingProblems(name, deployment, roomOf(config.platform, deployment, machine), label),
    ]),
    ...memoryProblems(config, machine, label),
    ...sharingProblems(config, label),
    ...fitProblems(config, machine, label),
    ...workloadProblems(config.workloads, config.deployments, label),
    ...(config.capacity === undefined ? [] : capacityProblems(config.capacity, config.workloads, label)),
    ...(config.platform === undefined
      ? []
      : podPlatformProblems(config.platform, config.deployments, config.benchmark, label)),
    ...failureProblems(config, label),
  ];
}

/** What a server has: this machine with all the others, or its pod's limits. */
interface Room {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly of: "machine" | "pod";
  /** Whether the pods can have whole CPUs alone: Guaranteed, and asking for whole ones. */
  readonly pinned: boolean;
}

function roomOf(platform: PlatformConfig | undefined, deployment: DeploymentConfig, machine: MachineFacts): Room {
  if (platform === undefined || !isPodPlatform(platform)) return { ...machine, of: "machine", pinned: false };
  const { requests, limits } = podSettings(platform, deployment).resources;
  const cores = parseQuantity(limits.cpu);
  // Of other clusters nobody knows how kubelets hand out CPUs.
  const alone =
    platform.type === "kubernetes" || platform.pools[deployment.pods?.pool ?? "servers"]?.tuning.staticCpus === true;
  return {
    cores,
    memoryBytes: parseQuantity(limits.memory),
    of: "pod",
    pinned: alone && isGuaranteed({ requests, limits }) && Number.isInteger(cores),
  };
}

function zoneProblems(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig | undefined,
  label: Label,
): string[] {
  if (platform === undefined) return [];
  const own = deployment.pods?.zones !== undefined;
  const path = label(own ? ["deployments", name, "pods", "zones"] : ["platform", "zones"]);
  const zones = deploymentZones(platform, deployment);
  const distinct = new Set(zones).size;
  const shape = configuredShape(deployment);
  const nodes = nodeCount(shape);
  const problems: string[] = [];
  const others = zones.filter((zone) => !platformZones(platform).includes(zone));
  if (others.length > 0)
    problems.push(
      `${path}: ${others.join(", ")} is none of the platform's; there are ${platformZones(platform).join(", ")}`,
    );
  // Whether eks has a zone twice is said by its schema.
  if (distinct < zones.length && (own || platform.type !== "eks")) problems.push(`${path}: a zone is named twice`);
  // A plan of machines has zones of its own: on eks fewer nodes than zones are a matter of `pods.zones`.
  if (distinct > nodes)
    problems.push(
      platform.type === "eks" && !own
        ? `${path}: ${distinct} zones are more than the ${nodes} nodes of ${name}; ${label(["deployments", name, "pods", "zones"])} can name fewer`
        : `${path}: ${distinct} zones are more than the ${nodes} nodes of ${name}; at most ${nodes}`,
    );
  if (distinct < 2 && shape.replicasPerPrimary > 0)
    problems.push(`${path}: one zone cannot keep the replicas of ${name} apart from their primaries; at least 2`);
  return problems;
}

/** Whichever zone is lost, a majority of the Sentinels and a replica must be left elsewhere. */
function sentinelProblems(
  name: string,
  deployment: DeploymentConfig,
  platform: PlatformConfig | undefined,
  label: Label,
): string[] {
  if (deployment.mode !== "replication" || deployment.sentinel === undefined || platform === undefined) return [];
  const {
    sentinel: { count, quorum },
    replicas,
    engine,
  } = deployment;
  const path = label(["deployments", name, "sentinel"]);
  const zones = new Set(deploymentZones(platform, deployment)).size;
  return [
    ...(replicas === 0 ? [`${path}: there is no replica to take over; at least 1`] : []),
    ...(engine === "valkey" ? [] : [`${path}: is Valkey's, and ${name} is ${engine}`]),
    ...(quorum !== undefined && quorum > count
      ? [`${path}.quorum: ${quorum} of ${count} Sentinels; at most ${count}`]
      : []),
    ...(zones < MIN_SENTINEL_ZONES
      ? [
          `${path}: with ${zones === 1 ? "one zone" : `${zones} zones`} the loss of one can take the majority; at least ${MIN_SENTINEL_ZONES}`,
        ]
      : []),
    ...(isPodPlatform(platform) && platform.tls !== undefined
      ? [
          `${path}: Sentinels and their proxies speak plain TCP, and ${label(["platform", "tls"])} is set; without one of the two`,
        ]
      : []),
  ];
}

function settingProblems(name: string, deployment: DeploymentConfig, { cores, pinned }: Room, label: Label): string[] {
  const { settings } = deployment;
  const path = (key: string): string => label(["deployments", name, "settings", key]);
  const problems: string[] = [];
  const ioThreads = settings["io-threads"];
  // Beside the server something else runs, but on CPUs that are its own.
  const most = Math.max(1, pinned ? cores : Math.ceil(cores) - 1);
  if (ioThreads !== undefined && ioThreads > most && !deployment.oversubscribed) {
    problems.push(
      `${path("io-threads")}: ${ioThreads} threads on ${cores} cores; they spin, so at most ${most}, or oversubscribed: true to show what that costs`,
    );
  }
  const replicas = configuredShape(deployment).replicasPerPrimary;
  const needed = settings["min-replicas-to-write"];
  if (needed !== undefined && needed > replicas) {
    problems.push(
      `${path("min-replicas-to-write")}: no write would be taken with ${needed} where a primary has ${replicas} replicas; at most ${replicas}`,
    );
  }
  for (const key of Object.keys(settings.other ?? {})) {
    if (key in settings)
      problems.push(
        `${label(["deployments", name, "settings", "other", key])}: is set twice; there is a setting of that name`,
      );
  }
  return problems;
}

function memoryProblems({ platform, deployments }: ParsedSections, machine: MachineFacts, label: Label): string[] {
  const limits = deployments.flatMap(([name, deployment]) => {
    const limit = deployment.settings.maxmemory ?? 0;
    return limit === 0
      ? []
      : [
          {
            name,
            limit,
            total: limit * nodeCount(configuredShape(deployment)),
            room: roomOf(platform, deployment, machine),
          },
        ];
  });
  const path = (name: string): string => label(["deployments", name, "settings", "maxmemory"]);
  const inPods = limits.flatMap(({ name, limit, room }) => {
    const most = room.memoryBytes * MEMORY_SHARE;
    const memory = label(
      deployments.some(([other, { pods }]) => other === name && pods?.resources !== undefined)
        ? ["deployments", name, "pods", "resources", "limits", "memory"]
        : ["platform", "resources", "limits", "memory"],
    );
    return room.of === "pod" && limit > most
      ? [
          `${path(name)}: ${formatBytes(limit)} in a pod limited to ${formatBytes(room.memoryBytes)}; at most ${formatBytes(most)}, or a higher ${memory}`,
        ]
      : [];
  });
  if (platform !== undefined && isPodPlatform(platform)) return inPods;
  const most = machine.memoryBytes * MEMORY_SHARE;
  const sum = limits.reduce((total, limit) => total + limit.total, 0);
  if (sum <= most) return [];
  const parts = limits.map(({ name, total }) => `${name} ${formatBytes(total)}`).join(" and ");
  return [
    `${limits.map(({ name }) => path(name)).join(", ")}: together ${formatBytes(sum)} (${parts}) on a machine of ${formatBytes(machine.memoryBytes)}; at most ${formatBytes(most)}`,
  ];
}

function sharingProblems({ deployments, benchmark }: ParsedSections, label: Label): string[] {
  if (benchmark === undefined || benchmark.tests.length === 0) return [];
  const { clients, threads } = fittedWorkload({ benchmark, deployments: Object.fromEntries(deployments) });
  return deployments.flatMap(([name, deployment]) => {
    if (deployment.mode !== "cluster") return [];
    return unevenSettings(clients, threads, deployment.primaries).map(
      ({ setting, why, nearest }) =>
        `${label(["benchmark", setting])}: ${why} of ${name}, and keys would fall unevenly; the nearest that can: ${nearest.join(" or ")}`,
    );
  });
}

function fitProblems(
  { platform, deployments, benchmark }: ParsedSections,
  machine: MachineFacts,
  label: Label,
): string[] {
  if (benchmark === undefined || benchmark.tests.length === 0 || deployments.length === 0) return [];
  const anyCluster = deployments.some(([, { mode }]) => mode === "cluster");
  const workload = { ...benchmarkWorkload(benchmark), keySpace: fitKeySpace(benchmark.keySpace, anyCluster) };
  const families = keyFamilies(benchmark.tests).length;
  const path = `${label(["benchmark", "keySpace"])} × ${label(["benchmark", "dataSize"])}`;
  const what = `${workload.keySpace} keys of ${workload.dataSize} B`;
  const problems = deployments.flatMap(([name, deployment]) => {
    const maxmemory = deployment.settings.maxmemory ?? 0;
    const room = roomOf(platform, deployment, machine);
    const needed = dataBytes(workload, families, 1 / configuredShape(deployment).primaries);
    const need = `${path}: ${what} need about ${formatBytes(needed)} on each primary of ${name}`;
    if (maxmemory > 0 && needed > maxmemory) return [`${need}, whose maxmemory is ${formatBytes(maxmemory)}`];
    return room.of === "pod" && needed > room.memoryBytes * MEMORY_SHARE
      ? [`${need}, whose pods are limited to ${formatBytes(room.memoryBytes)}`]
      : [];
  });
  const total = deployments.reduce(
    (sum, [, deployment]) =>
      sum + dataBytes(workload, families, 1) * (1 + configuredShape(deployment).replicasPerPrimary),
    0,
  );
  if ((platform === undefined || !isPodPlatform(platform)) && total > machine.memoryBytes * MEMORY_SHARE)
    problems.push(
      `${path}: ${what} need about ${formatBytes(total)} on all nodes together; this machine has ${formatBytes(machine.memoryBytes)}`,
    );
  return problems;
}

function failureProblems({ failures, deployments, platform }: ParsedSections, label: Label): string[] {
  const names = deployments.map(([name]) => name);
  const zones = platform === undefined ? [] : platformZones(platform);
  return failures.flatMap(([name, failure]) => [
    ...(failure.deployments ?? []).flatMap((each, index) =>
      names.includes(each)
        ? []
        : [
            `${label(["failures", name, "deployments", index])}: there is no deployment ${each}; there are ${names.join(", ")}`,
          ],
    ),
    ...("zone" in failure && failure.zone !== undefined && platform !== undefined && !zones.includes(failure.zone)
      ? [`${label(["failures", name, "zone"])}: there is no zone ${failure.zone}; there are ${zones.join(", ")}`]
      : []),
    ...deployments.flatMap(([deployment, config]) => {
      const { replicasPerPrimary } = configuredShape(config);
      const wanted = Math.max(failure.waitFor, failure.settings["min-replicas-to-write"] ?? 0);
      const meant = failure.deployments?.includes(deployment) ?? true;
      return meant && wanted > replicasPerPrimary
        ? [
            `${label(["failures", name])}: waits for ${wanted} replicas where a primary of ${deployment} has ${replicasPerPrimary}`,
          ]
        : [];
    }),
  ]);
}
