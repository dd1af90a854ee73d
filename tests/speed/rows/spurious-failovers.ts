/** How short a node timeout may be: spurious failovers while forks, a busy disk and neighbours delay servers. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { withConnections } from "../../../valkey/connections";
import { connect } from "../../../valkey/connection";
import type { Deployment } from "../../../valkey/deployment";
import { formatEndpoint } from "../../../valkey/node";
import { DeploymentObserver } from "../../../faults/observation/deployment-observer";
import { form } from "../../../valkey/formation/form";
import { identifyProcess, signalProcess } from "../../../lib/system/process-identity";
import { startRecorded } from "../../../platforms/host/processes";
import { availableCores } from "../../../platforms/host/cpu";
import { runsDirectory } from "../../../lib/system/paths";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { singleRow, atMost } from "../row";
import type { BenchServers } from "../workbench";
import { hostPlan, Workbench } from "../workbench";

/** Node timeouts, seconds. */
const TIMEOUTS = [0.5, 1, 2] as const;
const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
/** Data of each primary: as much as six nodes and their forks can hold on a small machine. */
const KEYS = 200_000;
const BYTES = 1000;
/** Length of each disturbance. */
const DISTURBANCE_MS = 20_000;
/** Busy processes per core. */
const NEIGHBOURS = 4;

/** Scripts that run until they are killed. */
const BUSY_DISK = join(__dirname, "..", "processes", "busy-disk.sh");
const BUSY_CORE = join(__dirname, "..", "processes", "busy-core.sh");

type Disturbance = "fork" | "disk" | "neighbour";
const DISTURBANCES: readonly Disturbance[] = ["fork", "disk", "neighbour"];

const idOf = (seconds: number): string => `spurious-failovers-${seconds}s`;

export const spuriousFailovers: Benchmark = {
  title: "Spurious failovers",
  ids: TIMEOUTS.map(idOf),
  run: async (context) => {
    for (const seconds of TIMEOUTS) if (context.wanted.has(idOf(seconds))) await measure(seconds, context);
  },
};

async function measure(seconds: number, { workbench, emit, report }: BenchmarkContext): Promise<void> {
  const base = hostPlan("cluster", "cluster", SHAPE);
  const settings = {
    ...base.settings,
    "cluster-node-timeout": seconds * 1000,
    appendonly: true,
    appendfsync: "always" as const,
    "enable-debug-command": "local",
  };
  // On a disk: the other benchmarks keep files in memory, where fsync never stalls.
  const counts = await new Workbench(runsDirectory(), workbench.signal).withServers(
    [{ ...base, settings }],
    async (servers) => {
      const {
        deployments: [deployment],
        signal,
      } = servers;
      if (deployment === undefined) throw new Error("no deployment was started");
      await form(deployment, SHAPE, { signal });
      const found: string[] = [];
      let total = 0;
      for (const disturbance of DISTURBANCES) {
        const count = await failoversDuring(disturbance, deployment, servers);
        total += count;
        found.push(`${disturbance} ${count}`);
        report(`node timeout ${seconds} s, ${disturbance}: ${count} failovers`);
      }
      return { found, total };
    },
  );
  const what =
    `spurious failovers at a node timeout of ${seconds} s, in ${DISTURBANCE_MS / 1000} s each of ` +
    `forks of ${(KEYS * BYTES) / 1e6} MB on all nodes, of a disk kept busy by fsync, ` +
    `of ${NEIGHBOURS * availableCores()} busy neighbours (${counts.found.join(", ")})`;
  emit(singleRow({ id: idOf(seconds), what, unit: "failovers" }, counts.total, atMost(0)));
}

/** @returns how many replicas became primaries */
async function failoversDuring(
  disturbance: Disturbance,
  deployment: Deployment,
  servers: BenchServers,
): Promise<number> {
  const observer = new DeploymentObserver(
    () => ({ mode: "cluster", ...SHAPE }),
    () => deployment.nodes,
    (endpoint) => connect(formatEndpoint(endpoint), endpoint, deployment.access, 5000),
  );
  await observer.start();
  try {
    const before = roles(deployment, observer);
    await disturb(disturbance, deployment, servers);
    await sleep(2000);
    const changes = observer
      .changes(0)
      .filter(({ state }) => state.startsWith("primary"))
      .map(({ node }) => node);
    return new Set(changes.filter((node) => before.get(node) === "replica")).size;
  } finally {
    await observer.stop();
  }
}

function roles({ nodes }: Deployment, observer: DeploymentObserver): Map<string, string> {
  return new Map(nodes.map(({ name }) => [name, observer.state(name).role]));
}

async function disturb(
  disturbance: Disturbance,
  deployment: Deployment,
  { host, signal }: BenchServers,
): Promise<void> {
  if (disturbance === "fork") {
    await fork(deployment);
    return;
  }
  const scripts =
    disturbance === "disk"
      ? [[BUSY_DISK, join(host.run.path, "busy")]]
      : Array.from({ length: NEIGHBOURS * availableCores() }, () => [BUSY_CORE]);
  const busy = scripts.map((args) => startRecorded(host.run, "neighbour", "/bin/sh", args, { stdio: "ignore" }));
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
