/** How short a node timeout may be: spurious failovers while forks, a busy disk and neighbours delay servers. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DeploymentObserver } from "../../faults/observation/deployment-observer";
import { runsDirectory } from "../../lib/system/paths";
import { identifyProcess, signalProcess } from "../../lib/system/process-identity";
import { availableCores } from "../../platforms/host/cpu";
import { startRecorded } from "../../platforms/host/processes";
import { connect } from "../../valkey/connection";
import { withConnections } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import { form } from "../../valkey/formation/form";
import { formatEndpoint } from "../../valkey/node";
import { type Benchmark, type BenchmarkContext, type BenchServers, hostPlan, Workbench } from "../workbench";
import { atMost, singleRow } from "../row";

const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
/** Data of each primary: as much as six nodes and their forks can hold on a small machine. */
const KEYS = 200_000;
const BYTES = 1000;
const DISTURBANCE_MS = 20_000;
const NEIGHBOURS = 4;

/** Shell scripts that run until they are killed, and how many of each run. Their argument is a file. */
const SCRIPTS = {
  disk: ['while :; do dd if=/dev/zero of="$0" bs=1M count=256 conv=fsync 2>/dev/null; done', 1],
  neighbour: ["while :; do :; done", NEIGHBOURS * availableCores()],
} as const;

export const spuriousFailovers: readonly Benchmark[] = [0.5, 1, 2].map((seconds) => ({
  title: "Spurious failovers",
  ids: [`spurious-failovers-${seconds}s`],
  run: (context) => measure(seconds, context),
}));

async function measure(seconds: number, { signal, emit, report }: BenchmarkContext): Promise<void> {
  const plan = hostPlan("cluster", "cluster", SHAPE, {
    ...{ "cluster-node-timeout": seconds * 1000, appendonly: true, appendfsync: "always" },
    "enable-debug-command": "local",
  });
  const found: string[] = [];
  let total = 0;
  // On a disk: the other benchmarks keep files in memory, where fsync never stalls.
  await new Workbench(runsDirectory(), signal).withDeployment(plan, async (servers) => {
    await form(servers.deployment, SHAPE, { signal: servers.signal });
    for (const disturbance of ["fork", "disk", "neighbour"] as const) {
      const count = await failoversDuring(servers.deployment, () =>
        disturbance === "fork" ? fork(servers.deployment) : disturb(disturbance, servers),
      );
      total += count;
      found.push(`${disturbance} ${count}`);
      report(`node timeout ${seconds} s, ${disturbance}: ${count} failovers`);
    }
  });
  const what =
    `spurious failovers at a node timeout of ${seconds} s, in ${DISTURBANCE_MS / 1000} s each of ` +
    `forks of ${(KEYS * BYTES) / 1e6} MB on all nodes, of a disk kept busy by fsync, ` +
    `of ${NEIGHBOURS * availableCores()} busy neighbours (${found.join(", ")})`;
  emit(singleRow({ id: `spurious-failovers-${seconds}s`, what, unit: "failovers" }, total, atMost(0)));
}

/** @returns how many replicas became primaries */
async function failoversDuring(deployment: Deployment, work: () => Promise<void>): Promise<number> {
  const observer = new DeploymentObserver(
    () => ({ mode: "cluster", ...SHAPE }),
    () => deployment.nodes,
    (endpoint) => connect(formatEndpoint(endpoint), endpoint, deployment.access, 5000),
  );
  await observer.start();
  try {
    const before = new Map(deployment.nodes.map(({ name }) => [name, observer.state(name).role]));
    await work();
    await sleep(2000);
    const promoted = observer.changes(0).filter(({ state }) => state.startsWith("primary"));
    return new Set(promoted.flatMap(({ node }) => (before.get(node) === "replica" ? [node] : []))).size;
  } finally {
    await observer.stop();
  }
}

async function disturb(disturbance: keyof typeof SCRIPTS, { host, signal }: BenchServers): Promise<void> {
  const [script, count] = SCRIPTS[disturbance];
  const args = ["-c", script, join(host.run.path, "busy")];
  const start = (): ReturnType<typeof startRecorded> =>
    startRecorded(host.run, "neighbour", "/bin/sh", args, { stdio: "ignore" });
  const busy = Array.from({ length: count }, start);
  try {
    await sleep(DISTURBANCE_MS, undefined, { signal });
  } finally {
    for (const { pid } of busy) {
      const identity = identifyProcess(pid);
      if (identity !== undefined) signalProcess(identity, "SIGKILL");
    }
    await Promise.all(busy.map(({ ended }) => ended));
  }
}

/** Fills the primaries, then saves one snapshot after the other on every node. */
async function fork(deployment: Deployment): Promise<void> {
  await withConnections(deployment, async (connections) => {
    const all = [...connections.values()];
    const roles = await Promise.all(all.map((connection) => connection.info("replication")));
    const primaries = all.filter((_, index) => roles[index]?.includes("role:master"));
    await Promise.all(primaries.map((connection) => connection.call("DEBUG", "POPULATE", KEYS, "forked", BYTES)));
    const until = performance.now() + DISTURBANCE_MS;
    while (performance.now() < until) {
      await Promise.all(all.map((connection) => connection.call("BGSAVE").catch(() => undefined)));
      await sleep(250);
    }
  });
}
