/** What mixed workloads ask for that the deployments of their stack cannot give. Pure. */
import { formatBytes } from "../../../lib/units";
import { meanValueBytes } from "../../../benchmarks/workloads/mixed-workload";
import { dataBytes, fitKeySpace } from "../../../benchmarks/workloads/workload";
import { configuredShape } from "../../plan/benchmark-plans";
import type { DeploymentConfig } from "../schema/stack";
import type { CapacityConfig } from "../schema/capacity";
import type { WorkloadConfig } from "../schema/workloads";

type Label = (path: readonly PropertyKey[]) => string;
type Named<T> = readonly [name: string, config: T];

/** One sentence each, with its path and what would do. */
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
      ...fitProblems(workload, deployment, label),
    ]),
  ]);
}

/** What is offered in search of a capacity is one of the stack's own workloads. */
export function capacityProblems(
  { workload }: CapacityConfig,
  workloads: readonly Named<WorkloadConfig>[],
  label: Label,
): string[] {
  const open = workloads.filter(([, { loadGenerator }]) => loadGenerator === "open-loop").map(([name]) => name);
  const there = open.length === 0 ? "there is none" : `there ${open.length === 1 ? "is" : "are"} ${open.join(", ")}`;
  return [
    ...(workload === undefined && open.length === 0
      ? [
          `${label(["capacity"])}: what is offered is a workload of the load generator open-loop, and ${label(["workloads"])} has none`,
        ]
      : []),
    ...(workload !== undefined && !open.includes(workload)
      ? [`${label(["capacity", "workload"])}: ${workload} is no workload of the load generator open-loop; ${there}`]
      : []),
  ];
}

/** Every primary and every thread gets as many connections, or keys would fall unevenly. */
function sharingProblems(
  [name, workload]: Named<WorkloadConfig>,
  [deployment, config]: Named<DeploymentConfig>,
  label: Label,
): string[] {
  const { primaries } = configuredShape(config);
  const threads = workload.loadGenerator === "open-loop" ? workload.workers : workload.threads;
  // valkey-benchmark binds threads to primaries, and fewer threads than those share them.
  const unit = workload.loadGenerator === "valkey-benchmark" ? Math.max(threads, primaries) : threads * primaries;
  const { clients } = workload;
  if (clients % unit === 0) return [];
  const below = Math.floor(clients / unit) * unit;
  const nearest = below === 0 ? [unit] : [below, below + unit];
  const sharers = [
    ...(primaries > 1 ? [`${primaries} primaries`] : []),
    ...(threads > 1 ? [`${threads} ${workload.loadGenerator === "open-loop" ? "workers" : "threads"}`] : []),
  ].join(" and ");
  return [
    `${label(["workloads", name, "clients"])}: ${clients} clients cannot be shared evenly by the ${sharers} of ${deployment}; the nearest that can: ${nearest.join(" or ")}`,
  ];
}

/** memtier_benchmark offers a whole number on each connection. */
function rateProblems([name, workload]: Named<WorkloadConfig>, label: Label): string[] {
  if (workload.loadGenerator !== "memtier" || workload.rate === undefined || workload.rate % workload.clients === 0)
    return [];
  const below = Math.floor(workload.rate / workload.clients) * workload.clients;
  const nearest = below === 0 ? [workload.clients] : [below, below + workload.clients];
  return [
    `${label(["workloads", name, "rate"])}: memtier_benchmark offers a whole number of requests per second on each of ${workload.clients} connections; the nearest to ${workload.rate} that can be: ${nearest.join(" or ")}`,
  ];
}

function readingProblems(
  [name, workload]: Named<WorkloadConfig>,
  [deployment, config]: Named<DeploymentConfig>,
  label: Label,
): string[] {
  if (workload.loadGenerator === "memtier" || workload.readFrom === "primary") return [];
  if (workload.loadGenerator === "valkey-benchmark" && (workload.reads < 1 || config.mode !== "cluster")) {
    return [
      `${label(["workloads", name, "readFrom"])}: valkey-benchmark reads from replicas of clusters only, and sends them writes too unless reads is 1; the load generator open-loop does both${config.mode === "cluster" ? "" : ` (${deployment} is replication)`}`,
    ];
  }
  if (workload.readFrom === "any" || configuredShape(config).replicasPerPrimary > 0) return [];
  return [`${label(["workloads", name, "readFrom"])}: ${deployment} has no replicas to read from; primary, or any`];
}

function fitProblems(
  [name, workload]: Named<WorkloadConfig>,
  [deployment, config]: Named<DeploymentConfig>,
  label: Label,
): string[] {
  const maxmemory = config.settings.maxmemory ?? 0;
  const keySpace = fitKeySpace(workload.keySpace, config.mode === "cluster");
  const dataSize = workload.loadGenerator === "open-loop" ? meanValueBytes(workload.values) : workload.dataSize;
  const needed = dataBytes({ keySpace, dataSize }, 1, 1 / configuredShape(config).primaries);
  if (maxmemory === 0 || needed <= maxmemory) return [];
  return [
    `${label(["workloads", name, "keySpace"])}: ${keySpace} keys of ${Math.round(dataSize)} B need about ${formatBytes(needed)} on each primary of ${deployment}, whose maxmemory is ${formatBytes(maxmemory)}`,
  ];
}
