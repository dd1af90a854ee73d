/**
 * Measures a cluster of many real nodes on this machine: its formation, its verification, its resources at rest, and an
 * outage.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { withConnections } from "../../../valkey/connections";
import type { Deployment } from "../../../valkey/deployment";
import { Failure } from "../../../lib/errors";
import { runScenarios } from "../../../faults/scenarios/run-scenarios";
import type { ScenarioResult } from "../../../faults/scenarios/scenario-run";
import type { Scenario } from "../../../faults/plan/scenario";
import { HostFaultInjector } from "../../../faults/injectors/host-injector";
import { form } from "../../../valkey/formation/form";
import type { Host } from "../../../platforms/host/host";
import type { Shape } from "../../../valkey/topology/placement";
import { verdictLine } from "../../../valkey/verification/format";
import { verify } from "../../../valkey/verification/verify";
import type { MeasuredCluster } from "../../../valkey/planning/measured-clusters";
import { openFiles, residentBytes, writtenBytes } from "../proc";

/** Seconds at rest: every node pings every other at least once in half the node timeout. */
const REST_SECONDS = 10;
/** Node timeout at which the traffic of the bus is measured: Valkey's default. */
const REST_TIMEOUT_MS = 15_000;
/** A primary takes no part in its first 2 s (CLUSTER_WRITABLE_DELAY): that wait is not part of formation. */
const UP_BEFORE_MS = 2200;
/** Seconds within which the cluster must recover from the loss of a primary. */
const RECOVERY_TIMEOUT_SECONDS = 300;
const LOAD: Scenario["load"] = {
  rate: 300,
  bytes: 64,
  timeoutMs: 3000,
  acknowledgement: { replicas: 0, timeoutMs: 0 },
};

/** Node timeout for many nodes on few cores, milliseconds: their pings take CPU time. */
export function crowdedNodeTimeout(nodes: number, cores: number): number {
  return Math.max(2000, Math.round((80 * nodes) / cores));
}

/** Where a cluster is measured. */
export interface ClusterMeasurementContext {
  readonly host: Host;
  readonly cores: number;
  readonly signal: AbortSignal;
  readonly report: (line: string) => void;
}

/**
 * Measures one cluster.
 * @param deployment servers that have just started, with the node timeout REST_TIMEOUT_MS
 * @throws Failure when the cluster does not form, verify or recover
 */
export async function measureCluster(
  deployment: Deployment,
  shape: Shape,
  { host, cores, signal, report }: ClusterMeasurementContext,
): Promise<MeasuredCluster> {
  const nodes = deployment.nodes.length;
  await sleep(UP_BEFORE_MS, undefined, { signal });
  const { milliseconds } = await form(deployment, shape, { signal });
  report(`${nodes} nodes: formed in ${(milliseconds / 1000).toFixed(2)} s`);
  // A first verification opens connections and loads code.
  await verify(deployment);
  const began = performance.now();
  const { verdict } = await verify(deployment);
  const verificationSeconds = (performance.now() - began) / 1000;
  if (!verdict.pass) throw new Failure(verdictLine(verdict));

  const pids = host.servers(deployment.name).map(({ process }) => process.pid);
  const before = pids.map(writtenBytes);
  const since = performance.now();
  await sleep(REST_SECONDS * 1000, undefined, { signal });
  const seconds = (performance.now() - since) / 1000;
  const written = pids.reduce((sum, pid, index) => sum + writtenBytes(pid) - (before[index] ?? 0), 0);
  const bytesPerNode = written / nodes / seconds;
  const descriptors = Math.max(...pids.map(openFiles));
  const resident = pids.reduce((sum, pid) => sum + residentBytes(pid), 0) / nodes;
  const traffic = `${Math.round(bytesPerNode / 1024)} KiB/s written by each`;
  const perNode = `${traffic}, ${descriptors} open files, ${(resident / 2 ** 20).toFixed(1)} MiB`;
  report(`${nodes} nodes: verified in ${verificationSeconds.toFixed(3)} s; at rest ${perNode}`);

  const nodeTimeoutMs = crowdedNodeTimeout(nodes, cores);
  await setNodeTimeout(deployment, nodeTimeoutMs);
  const primaries = verdict.shards.flatMap(({ primary }) => primary ?? []);
  const injector = new HostFaultInjector(
    host,
    { ...deployment, directives: new Map([...deployment.directives, ["cluster-node-timeout", String(nodeTimeoutMs)]]) },
    signal,
  );
  const scenario: Scenario = {
    name: "kill-primary",
    fault: { kind: "kill-primary", restart: "served" },
    load: LOAD,
    settings: new Map(),
    beforeSeconds: 2,
    afterSeconds: 0.3,
    recoveryTimeoutSeconds: RECOVERY_TIMEOUT_SECONDS,
    repair: true,
  };
  const records: ScenarioResult["record"][] = [];
  await runScenarios(
    [
      {
        scenario,
        repeats: 1,
        subject: { injector, shape, hasAutomaticFailover: true, initialPrimaries: primaries },
      },
    ],
    { signal, report: () => undefined, onResult: ({ record }) => records.push(record) },
  );
  const [record] = records;
  const [overMs, okMs] = [record?.outage.overMs ?? null, record?.okMs ?? null];
  if (overMs === null || okMs === null) throw new Failure(`${nodes} nodes did not recover from the loss of a primary`);
  report(`${nodes} nodes: out for ${(overMs / 1000).toFixed(2)} s at a node timeout of ${nodeTimeoutMs / 1000} s`);
  return {
    nodes,
    formationSeconds: milliseconds / 1000,
    verificationSeconds,
    outageSeconds: overMs / 1000,
    okSeconds: Math.max(okMs, overMs) / 1000,
    nodeTimeoutMs,
    descriptors,
    residentBytes: resident,
    bus: { nodeTimeoutMs: REST_TIMEOUT_MS, bytesPerNode },
  };
}

async function setNodeTimeout(deployment: Deployment, milliseconds: number): Promise<void> {
  await withConnections(deployment, (connections) =>
    Promise.all(
      [...connections.values()].map((connection) =>
        connection.config("SET", "cluster-node-timeout", String(milliseconds)),
      ),
    ),
  );
}
