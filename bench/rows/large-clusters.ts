/** Clusters of many real nodes on this machine: whether the model of them predicts the largest, and what limits them. */
import { renameSync, writeFileSync } from "node:fs";
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure, messageOf } from "../../lib/errors";
import { withTimeLimit } from "../../lib/polling";
import type { Prediction } from "../../lib/statistics/prediction";
import { availableCores, sampleCpu } from "../../platforms/host/cpu";
import { withConnections } from "../../valkey/connections";
import { form } from "../../valkey/formation/form";
import {
  type MeasuredCluster,
  type MeasuredClusters,
  forecastCluster,
  MEASURED_CLUSTERS_FILE,
} from "../../valkey/planning/forecast";
import { hostFaultSubject } from "../../tests/support/faults/fault-subject";
import type { Shape } from "../../valkey/topology/placement";
import { type Benchmark, type BenchmarkContext, type DeploymentServers, hostPlan } from "../workbench";
import { runFault, sumOf, writeLoad } from "../fault-driver";
import { mostOpenFiles, openFiles, residentBytes, writtenBytes } from "../proc";
import { atLeast, atMost, singleRow } from "../row";
import { secondsOfVerdict, UP_BEFORE_MS } from "./formation";

/** Numbers of nodes. The others must predict the largest. */
const SIZES = [12, 24, 48, 72, 96, 144, 200] as const;
const LARGEST = 200;
/** Measurements of each size, for an estimate of their spread. */
const ROUNDS = 2;
const MODEL = "large-model";
const OUTAGE = "outage-large-200";
/** How much longer than the node timeout an outage of the largest cluster may be, seconds. */
const OVER_TIMEOUT = 5;
/** Seconds at rest: every node pings every other at least once in half the node timeout. */
const REST_SECONDS = 10;
/** Node timeout at which the traffic of the bus is measured: Valkey's default. */
const REST_TIMEOUT_MS = 15_000;

export const largeClusters: Benchmark = {
  title: "Clusters of many nodes, and the model of them",
  ids: [OUTAGE, MODEL],
  run: async (context) => {
    if (context.wanted.has(MODEL)) await measureModel(context);
    else emitOutage((await measureSize(LARGEST, context)).point, context);
  },
};

function emitOutage(point: MeasuredCluster, { emit }: BenchmarkContext): void {
  const { nodes, outageSeconds, okSeconds, nodeTimeoutMs, residentBytes: each } = point;
  const what =
    `SIGKILL of a primary of ${nodes} nodes (${((each * nodes) / 1e9).toFixed(1)} GB resident) at a node timeout of ` +
    `${nodeTimeoutMs / 1000} s: outage of its slots; every node reports all slots as served after ${okSeconds.toFixed(2)} s`;
  emit(singleRow({ id: OUTAGE, what, unit: "s" }, outageSeconds, atMost(nodeTimeoutMs / 1000 + OVER_TIMEOUT)));
}

/**
 * Writes the measured points for previews, and compares the largest cluster with the prediction from the smaller ones.
 */
async function measureModel(context: BenchmarkContext): Promise<void> {
  const points: MeasuredCluster[] = [];
  for (let round = 1; round <= ROUNDS; round++)
    for (const nodes of SIZES) {
      const { point, version } = await measureSize(nodes, context);
      points.push(point);
      // Written after each point, because the next cluster may not fit the machine.
      write({ version, cores: availableCores(), points: points.map(rounded) });
      if (nodes === LARGEST && round === 1) emitOutage(point, context);
    }
  const largest = points.find(({ nodes }) => nodes === LARGEST);
  const smaller = points.filter(({ nodes }) => nodes < LARGEST);
  const forecast = (nodeTimeoutMs: number): ReturnType<typeof forecastCluster> =>
    forecastCluster(smaller, LARGEST, { nodeTimeoutMs, announceHostNames: false });
  const predicted = largest && forecast(largest.bus.nodeTimeoutMs);
  if (largest === undefined || predicted === undefined) throw new Error("there is no prediction");
  const outage = forecast(largest.nodeTimeoutMs)?.outageSeconds ?? predicted.outageSeconds;
  const figures: readonly (readonly [name: string, seen: number, predicted: Prediction])[] = [
    ["bus", largest.bus.bytesPerNode, predicted.busBytesPerNode],
    ["descriptors", largest.descriptors, predicted.descriptors],
    ["memory", largest.residentBytes, predicted.residentBytes],
    ["formation", largest.formationSeconds, predicted.formationSeconds],
    ["verification", largest.verificationSeconds, predicted.verificationSeconds],
    ["outage", largest.outageSeconds, outage],
  ];
  const off = figures.filter(([, seen, { low, high }]) => seen < low || seen > high);
  const ratios = figures.map(([name, seen, { estimate }]) => `${name} ${(seen / estimate).toFixed(2)}`).join(", ");
  const outside = off.length === 0 ? "" : `; outside: ${off.map(([name]) => name).join(", ")}`;
  const what =
    `of 6 figures of ${LARGEST} nodes those outside the 95 % prediction interval from ` +
    `${SIZES.slice(0, -1).join(", ")} nodes (measured / predicted: ${ratios}${outside})`;
  context.emit(singleRow({ id: MODEL, what, unit: "figures" }, off.length, atMost(1)));
}

function write(measured: MeasuredClusters): void {
  const temporary = `${MEASURED_CLUSTERS_FILE}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(measured, null, 1)}\n`);
  renameSync(temporary, MEASURED_CLUSTERS_FILE);
}

function rounded(point: MeasuredCluster): MeasuredCluster {
  const digits = (value: number): number => Number(value.toPrecision(4));
  return {
    ...point,
    formationSeconds: digits(point.formationSeconds),
    verificationSeconds: digits(point.verificationSeconds),
    outageSeconds: digits(point.outageSeconds),
    okSeconds: digits(point.okSeconds),
    residentBytes: Math.round(point.residentBytes),
    bus: { ...point.bus, bytesPerNode: Math.round(point.bus.bytesPerNode) },
  };
}

/** Node timeout for many nodes on few cores, milliseconds: their pings take CPU time. */
export function crowdedNodeTimeout(nodes: number, cores: number): number {
  return Math.max(2000, Math.round((80 * nodes) / cores));
}

function withCluster<T>(
  nodes: number,
  { workbench }: BenchmarkContext,
  use: (servers: DeploymentServers & { shape: Shape; pids: readonly number[] }) => Promise<T>,
): Promise<T> {
  const settings = { "cluster-node-timeout": REST_TIMEOUT_MS, "repl-diskless-sync-delay": 0 };
  const shape = { primaries: nodes / 2, replicasPerPrimary: 1 };
  return workbench.withDeployment(hostPlan("cluster", "cluster", shape, settings), (servers) => {
    const pids = servers.host.servers(servers.deployment.name).map(({ process }) => process.pid);
    return use({ ...servers, shape, pids });
  });
}

/** Measures formation, verification, resources at rest, and an outage. @throws Failure when the cluster does not recover */
function measureSize(nodes: number, context: BenchmarkContext): Promise<{ point: MeasuredCluster; version: string }> {
  const { report } = context;
  return withCluster(nodes, context, async ({ host, deployment, shape, pids, signal }) => {
    await sleep(UP_BEFORE_MS, undefined, { signal });
    const { milliseconds } = await form(deployment, shape, { signal });
    report(`${nodes} nodes: formed in ${(milliseconds / 1000).toFixed(2)} s`);
    // A first verification opens connections and loads code.
    await secondsOfVerdict(deployment);
    const verificationSeconds = await secondsOfVerdict(deployment);
    const before = sumOf(pids, writtenBytes);
    const since = performance.now();
    await sleep(REST_SECONDS * 1000, undefined, { signal });
    const seconds = (performance.now() - since) / 1000;
    const bytesPerNode = (sumOf(pids, writtenBytes) - before) / nodes / seconds;
    const descriptors = Math.max(...pids.map(openFiles));
    const resident = sumOf(pids, residentBytes) / nodes;
    const traffic = `${Math.round(bytesPerNode / 1024)} KiB/s written by each`;
    const perNode = `${traffic}, ${descriptors} open files, ${(resident / 2 ** 20).toFixed(1)} MiB`;
    report(`${nodes} nodes: verified in ${verificationSeconds.toFixed(3)} s; at rest ${perNode}`);
    const nodeTimeoutMs = crowdedNodeTimeout(nodes, availableCores());
    const timeout = ["cluster-node-timeout", String(nodeTimeoutMs)] as const;
    await withConnections(deployment, (connections) =>
      Promise.all([...connections.values()].map((each) => each.config("SET", ...timeout))),
    );
    const patient = { ...deployment, directives: new Map([...deployment.directives, timeout]) };
    const subject = await hostFaultSubject(host, patient, { mode: "cluster", shape }, signal);
    const run = { load: writeLoad(300, 0), beforeSeconds: 2, recoveryTimeoutSeconds: 300 };
    const fault = { kind: "kill-primary" } as const;
    const [record] = await runFault(subject, { fault, ...run }, signal);
    const [overMs, okMs] = [record?.outage.overMs ?? null, record?.okMs ?? null];
    if (overMs === null || okMs === null)
      throw new Failure(`${nodes} nodes did not recover from the loss of a primary`);
    report(`${nodes} nodes: out for ${(overMs / 1000).toFixed(2)} s at a node timeout of ${nodeTimeoutMs / 1000} s`);
    const point: MeasuredCluster = {
      ...{ nodes, formationSeconds: milliseconds / 1000, verificationSeconds, outageSeconds: overMs / 1000 },
      ...{ okSeconds: Math.max(okMs, overMs) / 1000, nodeTimeoutMs, descriptors, residentBytes: resident },
      bus: { nodeTimeoutMs: REST_TIMEOUT_MS, bytesPerNode },
    };
    return { point, version: host.programs.version };
  });
}

const LIMIT = "large-limit";
const FIRST_SIZE = 200;
const STEP = 1.25;
const MAX_STEPS = 8;
/** Seconds within which a cluster must start, form and verify. */
const TIMEOUT_SECONDS = 240;
/**
 * Seconds after which it must still verify: longer than the node timeout, by which the others suspect a node that does
 * not keep up.
 */
const STAY_SECONDS = 20;

type Shares = Readonly<Record<"CPU" | "memory" | "open files of a node", number>>;

export const largeLimit: Benchmark = {
  title: "The largest cluster that this machine runs",
  ids: [LIMIT],
  run: async (context) => {
    let best: { readonly nodes: number; readonly shares: Shares } | undefined;
    let end = `no limit found in ${MAX_STEPS} steps`;
    for (let step = 0; step < MAX_STEPS; step++) {
      const nodes = 2 * Math.round((FIRST_SIZE * STEP ** step) / 2);
      try {
        best = { nodes, shares: await sharesOf(nodes, context) };
      } catch (error) {
        context.signal.throwIfAborted();
        end = `${nodes} nodes failed: ${messageOf(error).split("\n", 1)[0] ?? ""}`;
        break;
      }
    }
    context.report(end);
    const shares = best === undefined ? "nothing ran" : describeShares(best.shares);
    const criteria = `formed and verified within ${TIMEOUT_SECONDS} s, and verified again ${STAY_SECONDS} s later`;
    const setting = `half of them replicas, node timeout ${REST_TIMEOUT_MS / 1000} s, ${availableCores()} cores`;
    const what = `most nodes that ${criteria} (${setting}); ${end}; at rest they use ${shares}`;
    context.emit(singleRow({ id: LIMIT, what, unit: "nodes" }, best?.nodes ?? 0, atLeast(FIRST_SIZE)));
  },
};

/** @throws Failure (or what formation throws) when the nodes do not become and stay a cluster */
function sharesOf(nodes: number, context: BenchmarkContext): Promise<Shares> {
  return withCluster(nodes, context, async ({ deployment, shape, pids, signal }) => {
    const { milliseconds } = await withTimeLimit(signal, TIMEOUT_SECONDS * 1000, (limited) =>
      form(deployment, shape, { signal: limited }),
    );
    const cpu = (): number => sumOf(pids, (pid) => sampleCpu(pid, 0).processSeconds ?? NaN);
    const [before, since] = [cpu(), performance.now()];
    await sleep(STAY_SECONDS * 1000, undefined, { signal });
    const cores = (cpu() - before) / ((performance.now() - since) / 1000);
    await secondsOfVerdict(deployment);
    const shares = {
      CPU: cores / availableCores(),
      memory: sumOf(pids, residentBytes) / totalmem(),
      "open files of a node": Math.max(...pids.map((pid) => openFiles(pid) / mostOpenFiles(pid))),
    };
    context.report(
      `${nodes} nodes: formed in ${(milliseconds / 1000).toFixed(1)} s; at rest ${describeShares(shares)}`,
    );
    return shares;
  });
}

/** `memory 80 %, CPU 20 %, …`: the scarcest resource first. */
function describeShares(shares: Shares): string {
  const descending = Object.entries(shares).sort(([, a], [, b]) => b - a);
  return descending.map(([resource, share]) => `${resource} ${(share * 100).toFixed(0)} %`).join(", ");
}
