import { type Problem, problem } from "../../lib/errors";
import { compact } from "../../lib/compact";
import { type MixedWorkload, meanValueBytes } from "./mixed-workload";
import type { Label } from "../../lib/schema/problems";
import { formatBytes } from "../../lib/units";
import type { Mode } from "../../valkey/node";
import type { Shape } from "../../valkey/topology/placement";
import type { WorkloadConfig } from "./mixed-workload-schema";
import { type Workload, dataBytes, adjustKeySpace, unevenSettings } from "./workload";

export interface LoadedDeployment {
  readonly name: string;
  readonly mode: Mode;
  /** A number that is unknown is not checked. */
  readonly shape: Partial<Shape>;
  readonly maxmemory?: number | undefined;
}

type NamedWorkload = readonly [name: string, workload: WorkloadConfig | MixedWorkload];

export function namedTestProblems(
  { tests, clients, threads }: Pick<Workload, "tests" | "clients" | "threads">,
  deployments: readonly LoadedDeployment[],
  label: Label,
): Problem[] {
  if (tests.length === 0) return [];
  return deployments.flatMap(({ name, mode, shape }) => {
    if (mode !== "cluster" || shape.primaries === undefined) return [];
    return unevenSettings(clients, threads, shape.primaries).map(({ setting, why, nearest }) => {
      const remedy = `nearest values: ${nearest.join(" or ")}`;
      const message = `${why} of ${name}, so primaries would get unequal shares of the keys; ${remedy}`;
      return problem("uneven-load", label(["benchmark", setting]), message);
    });
  });
}

export function workloadProblems(
  workloads: readonly NamedWorkload[],
  deployments: readonly LoadedDeployment[],
  label: Label,
): Problem[] {
  return workloads.flatMap((workload) => [
    ...rateProblems(workload, label),
    ...deployments.flatMap((deployment) => [
      ...sharingProblems(workload, deployment, label),
      ...readingProblems(workload, deployment, label),
      ...memoryProblems(workload, deployment, label),
    ]),
  ]);
}

/** Such a search needs an open-loop workload. */
export function capacityProblems(
  { workload }: { readonly workload?: string | undefined },
  workloads: readonly NamedWorkload[],
  label: Label,
): Problem[] {
  const names = workloads.filter(([, { loadGenerator }]) => loadGenerator === "open-loop").map(([name]) => name);
  if (workload === undefined) {
    if (names.length > 0) return [];
    const message = `the search needs an open-loop workload, and ${label(["workloads"])} has none`;
    return [problem("no-open-loop", label(["capacity"]), message)];
  }
  if (names.includes(workload)) return [];
  const known = names.length === 0 ? "none exists" : `expected one of ${names.join(", ")}`;
  const path = label(["capacity", "workload"]);
  return [problem("not-open-loop", path, `${workload} is not an open-loop workload; ${known}`)];
}

/** The primaries can share connections evenly only if their number is a multiple of this. */
export function clientsUnit(workload: WorkloadConfig | MixedWorkload, primaries: number): number {
  const threads = threadsOf(workload);
  // valkey-benchmark binds each thread to a primary. If there are more primaries than threads, several primaries share
  // a thread.
  return workload.loadGenerator === "valkey-benchmark" ? Math.max(threads, primaries) : threads * primaries;
}

function threadsOf(workload: WorkloadConfig | MixedWorkload): number {
  return workload.loadGenerator === "open-loop" ? workload.workers : workload.threads;
}

/** With unequal numbers of connections, some keys would get more requests than others. */
function sharingProblems(
  [name, workload]: NamedWorkload,
  { name: deployment, shape }: LoadedDeployment,
  label: Label,
): Problem[] {
  const { primaries } = shape;
  if (primaries === undefined) return [];
  const { clients } = workload;
  const isOpenLoop = workload.loadGenerator === "open-loop";
  const threads = threadsOf(workload);
  const unit = clientsUnit(workload, primaries);
  if (clients % unit === 0) return [];
  const sharers = compact([
    primaries > 1 ? `${primaries} primaries` : undefined,
    threads > 1 ? `${threads} ${isOpenLoop ? "workers" : "threads"}` : undefined,
  ]).join(" and ");
  const path = label(["workloads", name, "clients"]);
  const remedy = `nearest values: ${multiplesAround(clients, unit)}`;
  const message = `${clients} clients cannot be shared evenly by the ${sharers} of ${deployment}; ${remedy}`;
  return [problem("uneven-load", path, message)];
}

/** Problems of an offered rate. memtier_benchmark needs a whole number of requests per second for each connection. */
function rateProblems([name, workload]: NamedWorkload, label: Label): Problem[] {
  if (workload.loadGenerator !== "memtier" || workload.rate === undefined || workload.rate % workload.clients === 0)
    return [];
  const path = label(["workloads", name, "rate"]);
  const rule = `memtier_benchmark needs a rate that is a multiple of ${workload.clients}, the number of its connections`;
  const nearest = `nearest values: ${multiplesAround(workload.rate, workload.clients)}`;
  return [problem("uneven-rate", path, ` is ${workload.rate}: ${rule}; ${nearest}`)];
}

function readingProblems(
  [name, workload]: NamedWorkload,
  { name: deployment, mode, shape }: LoadedDeployment,
  label: Label,
): Problem[] {
  if (workload.loadGenerator === "memtier" || workload.readFrom === "primary") return [];
  const path = label(["workloads", name, "readFrom"]);
  if (workload.loadGenerator === "valkey-benchmark" && (workload.reads < 1 || mode !== "cluster")) {
    const rule = "valkey-benchmark reads from replicas only in cluster mode and with reads: 1";
    const found = mode === "cluster" ? "" : ` (${deployment} is in replication mode)`;
    const remedy = "the load generator open-loop reads from replicas in both modes";
    return [problem("no-replica-reads", path, `${rule}${found}; ${remedy}`)];
  }
  if (workload.readFrom === "any" || shape.replicasPerPrimary !== 0) return [];
  return [problem("no-replicas", path, `${deployment} has no replicas to read from; expected primary or any`)];
}

function memoryProblems(
  [name, workload]: NamedWorkload,
  { name: deployment, mode, shape, maxmemory = 0 }: LoadedDeployment,
  label: Label,
): Problem[] {
  const keySpace = adjustKeySpace(workload.keySpace, mode === "cluster");
  const dataSize = workload.loadGenerator === "open-loop" ? meanValueBytes(workload.values) : workload.dataSize;
  const needed = dataBytes({ keySpace, dataSize }, 1, 1 / (shape.primaries ?? 1));
  if (maxmemory === 0 || needed <= maxmemory) return [];
  const keys = `${keySpace} keys of ${Math.round(dataSize)} B`;
  const primary = `each primary of ${deployment}, whose maxmemory is ${formatBytes(maxmemory)}`;
  const path = label(["workloads", name, "keySpace"]);
  return [problem("data-exceeds-maxmemory", path, `${keys} need about ${formatBytes(needed)} on ${primary}`)];
}

function multiplesAround(value: number, unit: number): string {
  const below = Math.floor(value / unit) * unit;
  return below === 0 ? String(unit) : `${below} or ${below + unit}`;
}
