/** Cross-field validation of the sections `workloads` and `capacity`. Pure. */
import { meanValueBytes } from "../../../benchmarks/workloads/mixed-workload";
import { dataBytes, fitKeySpace } from "../../../benchmarks/workloads/workload";
import { formatBytes } from "../../../lib/units";
import { configuredShape } from "../../plan/benchmark-plans";
import type { Label } from "../problems";
import type { CapacityConfig } from "../schema/capacity";
import type { DeploymentConfig } from "../schema/deployments";
import type { WorkloadConfig } from "../schema/workloads";
import type { Named } from "../section-parser";

/** Workloads that the deployments of their stack cannot take. */
export function workloadProblems(
  workloads: readonly Named<WorkloadConfig>[],
  deployments: readonly Named<DeploymentConfig>[],
  label: Label,
): string[] {
  return workloads.flatMap((workload) => [
    ...rateProblems(workload, label),
    ...deployments.flatMap((deployment) => [
      ...sharingProblems(workload, deployment, label),
      ...readingProblems(workload, deployment, label),
      ...memoryProblems(workload, deployment, label),
    ]),
  ]);
}

/** A search for capacity needs an open-loop workload of the same stack. */
export function capacityProblems(
  { workload }: CapacityConfig,
  workloads: readonly Named<WorkloadConfig>[],
  label: Label,
): string[] {
  const names = workloads.filter(([, { loadGenerator }]) => loadGenerator === "open-loop").map(([name]) => name);
  if (workload === undefined) {
    if (names.length > 0) return [];
    return [`${label(["capacity"])}: the search needs an open-loop workload, and ${label(["workloads"])} has none`];
  }
  if (names.includes(workload)) return [];
  const known = names.length === 0 ? "there is none" : `expected one of ${names.join(", ")}`;
  return [`${label(["capacity", "workload"])}: ${workload} is no open-loop workload; ${known}`];
}

/** Every primary and every thread needs the same number of connections, or keys would fall unevenly. */
function sharingProblems(
  [name, workload]: Named<WorkloadConfig>,
  [deployment, config]: Named<DeploymentConfig>,
  label: Label,
): string[] {
  const { primaries } = configuredShape(config);
  const isOpenLoop = workload.loadGenerator === "open-loop";
  const threads = isOpenLoop ? workload.workers : workload.threads;
  // valkey-benchmark binds threads to primaries; fewer threads than primaries share them.
  const unit = workload.loadGenerator === "valkey-benchmark" ? Math.max(threads, primaries) : threads * primaries;
  const { clients } = workload;
  if (clients % unit === 0) return [];
  const sharers = [
    ...(primaries > 1 ? [`${primaries} primaries`] : []),
    ...(threads > 1 ? [`${threads} ${isOpenLoop ? "workers" : "threads"}`] : []),
  ].join(" and ");
  const path = label(["workloads", name, "clients"]);
  const remedy = `nearest values: ${multiplesAround(clients, unit)}`;
  return [`${path}: ${clients} clients cannot be shared evenly by the ${sharers} of ${deployment}; ${remedy}`];
}

/** memtier_benchmark offers a whole number of requests per second on each connection. */
function rateProblems([name, workload]: Named<WorkloadConfig>, label: Label): string[] {
  if (workload.loadGenerator !== "memtier" || workload.rate === undefined || workload.rate % workload.clients === 0)
    return [];
  const path = label(["workloads", name, "rate"]);
  const rule = `memtier_benchmark needs a multiple of its ${workload.clients} connections`;
  return [`${path} is ${workload.rate}: ${rule}; nearest values: ${multiplesAround(workload.rate, workload.clients)}`];
}

function readingProblems(
  [name, workload]: Named<WorkloadConfig>,
  [deployment, config]: Named<DeploymentConfig>,
  label: Label,
): string[] {
  if (workload.loadGenerator === "memtier" || workload.readFrom === "primary") return [];
  const path = label(["workloads", name, "readFrom"]);
  if (workload.loadGenerator === "valkey-benchmark" && (workload.reads < 1 || config.mode !== "cluster")) {
    const rule = "valkey-benchmark reads from replicas of clusters only, and only with reads: 1";
    const found = config.mode === "cluster" ? "" : ` (${deployment} is replication)`;
    return [`${path}: ${rule}${found}; open-loop reads from any replicas`];
  }
  if (workload.readFrom === "any" || configuredShape(config).replicasPerPrimary > 0) return [];
  return [`${path}: ${deployment} has no replicas to read from; expected primary or any`];
}

function memoryProblems(
  [name, workload]: Named<WorkloadConfig>,
  [deployment, config]: Named<DeploymentConfig>,
  label: Label,
): string[] {
  const { maxmemory = 0 } = config.settings;
  const keySpace = fitKeySpace(workload.keySpace, config.mode === "cluster");
  const dataSize = workload.loadGenerator === "open-loop" ? meanValueBytes(workload.values) : workload.dataSize;
  const needed = dataBytes({ keySpace, dataSize }, 1, 1 / configuredShape(config).primaries);
  if (maxmemory === 0 || needed <= maxmemory) return [];
  const keys = `${keySpace} keys of ${Math.round(dataSize)} B`;
  const primary = `each primary of ${deployment}, whose maxmemory is ${formatBytes(maxmemory)}`;
  return [`${label(["workloads", name, "keySpace"])}: ${keys} need about ${formatBytes(needed)} on ${primary}`];
}

/** The multiples of a unit around a value: `48 or 51`. */
function multiplesAround(value: number, unit: number): string {
  const below = Math.floor(value / unit) * unit;
  return below === 0 ? String(unit) : `${below} or ${below + unit}`;
}
