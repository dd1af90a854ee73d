/** The time from running nodes to a cluster: formation beside `valkey-cli --cluster create`. */
import { setTimeout as sleep } from "node:timers/promises";
import { linearRegression } from "simple-statistics";
import type { Connection } from "../../../valkey/connection";
import { withConnections } from "../../../valkey/connections";
import type { Deployment } from "../../../valkey/deployment";
import { formatEndpoint } from "../../../valkey/node";
import { Failure } from "../../../lib/errors";
import { form } from "../../../valkey/formation/form";
import { median } from "../../../lib/statistics/median";
import { infoNumber, parseInfo } from "../../../valkey/topology/replies";
import { SLOT_COUNT } from "../../../valkey/topology/slots";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import type { RowTarget } from "../row";
import { singleRow, atLeast, below, comparedRow } from "../row";
import type { BenchServers, Workbench } from "../workbench";
import { runDirectly, hostPlan } from "../workbench";

interface Size {
  readonly nodes: number;
  /** For valkey-cli's time relative to ours. */
  readonly target: RowTarget;
}

/**
 * 6: the cluster of "Valkey on EKS", which must not form more slowly than by valkey-cli. 200: as many as fit a small
 * machine.
 */
const SIZES: readonly Size[] = [
  { nodes: 6, target: atLeast(1) },
  { nodes: 48, target: atLeast(8) },
  { nodes: 200, target: atLeast(6) },
];
/** The sizes that the growth is fitted to. */
const GROWTH_NODES: readonly number[] = [6, 24, 48, 96];

const GROWTH = "formation-growth";
const GROWTH_TARGET = below(1.5);
/** Taken in turns; ours come first and last. */
const REPEATS = { ours: 3, reference: 2 };

/**
 * A primary takes no part in a cluster for 2 s after its start (CLUSTER_WRITABLE_DELAY); formation is measured after
 * that.
 */
export const UP_BEFORE_MS = 2200;
export const PATIENCE_MS = 180_000;

const idOf = (nodes: number): string => `formation-${nodes}`;

export const formation: Benchmark = {
  title: "Formation, beside valkey-cli --cluster create",
  ids: [...SIZES.map(({ nodes }) => idOf(nodes)), GROWTH],
  run: async (context) => {
    const { wanted } = context;
    const times = new Map<number, number>();
    for (const { nodes, target } of SIZES)
      if (wanted.has(idOf(nodes))) times.set(nodes, await measureBoth(nodes, target, context));
    if (wanted.has(GROWTH)) await measureGrowth(times, context);
  },
};

/** @param known our median by number of nodes, where it was measured already */
async function measureGrowth(known: ReadonlyMap<number, number>, context: BenchmarkContext): Promise<void> {
  const points: [nodes: number, seconds: number][] = [];
  for (const nodes of GROWTH_NODES) points.push([nodes, known.get(nodes) ?? (await measureOurs(nodes, context))]);
  const what = `growth of our formation time t ~ N^x over ${GROWTH_NODES.join(", ")} nodes, fitted to log t over log N`;
  context.emit(singleRow({ id: GROWTH, what, unit: "exponent" }, exponent(points), GROWTH_TARGET));
}

/** The exponent x of y ~ n^x, by least squares of the logarithms. Pure. */
export function exponent(points: readonly (readonly [n: number, y: number])[]): number {
  return linearRegression(points.map(([n, y]) => [Math.log(n), Math.log(y)])).m;
}

/** @returns our median, seconds */
async function measureOurs(nodes: number, { workbench, report }: BenchmarkContext): Promise<number> {
  const times: number[] = [];
  for (let round = 1; round <= REPEATS.ours; round++) {
    times.push(await timeToForm(workbench, nodes, thisProject));
    report(`${nodes} nodes: ${lastOf(times)} s by this project`);
  }
  return median(times);
}

/** @returns our median, seconds */
async function measureBoth(nodes: number, target: RowTarget, context: BenchmarkContext): Promise<number> {
  const { workbench, report, emit } = context;
  const ours: number[] = [];
  const reference: number[] = [];
  for (let round = 1; round <= REPEATS.ours; round++) {
    ours.push(await timeToForm(workbench, nodes, thisProject));
    report(`${nodes} nodes: ${lastOf(ours)} s by this project`);
    if (round > REPEATS.reference) continue;
    reference.push(await timeToForm(workbench, nodes, valkeyCli));
    report(`${nodes} nodes: ${lastOf(reference)} s by valkey-cli --cluster create`);
  }
  const what =
    `formation of ${nodes} nodes until all replica links are up, medians of ${ours.length} and ${reference.length}; ` +
    "ratio: how many times as long valkey-cli --cluster create takes";
  const medians = { ours: median(ours), reference: median(reference) };
  emit(comparedRow({ id: idOf(nodes), what, unit: "s" }, medians, "reference/ours", target));
  return medians.ours;
}

/** Forms a cluster of the deployment's nodes. */
type Procedure = (servers: BenchServers, deployment: Deployment) => Promise<void>;

const thisProject: Procedure = async ({ signal }, deployment) => {
  await form(deployment, shapeOf(deployment.nodes.length), { signal });
};

const valkeyCli: Procedure = async ({ host, signal }, deployment) => {
  const addresses = deployment.nodes.map(({ endpoint }) => formatEndpoint(endpoint));
  const args = ["--cluster", "create", ...addresses, "--cluster-replicas", "1", "--cluster-yes"];
  await runDirectly(host.programs.cli, args, { run: host.run, signal, password: deployment.access.password });
};

const shapeOf = (nodes: number): { primaries: number; replicasPerPrimary: number } => ({
  primaries: nodes / 2,
  replicasPerPrimary: 1,
});

/** Runs the procedure on fresh servers. @returns seconds from its start until every node reports a whole cluster */
function timeToForm(bench: Workbench, nodes: number, procedure: Procedure): Promise<number> {
  return bench.withServers([hostPlan("cluster", "cluster", shapeOf(nodes))], async (servers) => {
    const {
      deployments: [deployment],
      signal,
    } = servers;
    if (deployment === undefined) throw new Error("no deployment was started");
    await sleep(UP_BEFORE_MS, undefined, { signal });
    return withConnections(deployment, async (connections) => {
      const began = performance.now();
      await procedure(servers, deployment);
      const every = Math.min(250, Math.max(25, nodes / 2));
      for (
        let what = await missing([...connections.values()]);
        what !== undefined;
        what = await missing([...connections.values()])
      ) {
        if (performance.now() - began > PATIENCE_MS)
          throw new Failure(`${nodes} nodes are not a cluster after ${PATIENCE_MS / 1000} s: ${what}`);
        await sleep(every, undefined, { signal });
      }
      return (performance.now() - began) / 1000;
    });
  });
}

/** Part that a cluster still lacks by its nodes' replies; undefined when it lacks nothing. Shares no code with formation. */
export async function missing(connections: readonly Connection[]): Promise<string | undefined> {
  const links = await Promise.all(
    connections.map(async (connection) => {
      const [cluster, replication] = (
        await Promise.all([connection.cluster("INFO"), connection.info("replication")])
      ).map(parseInfo);
      const formed =
        cluster?.get("cluster_state") === "ok" &&
        infoNumber(cluster, "cluster_slots_ok") === SLOT_COUNT &&
        infoNumber(cluster, "cluster_known_nodes") === connections.length;
      return {
        formed,
        isReplica: replication?.get("role") === "slave",
        isUp: replication?.get("master_link_status") === "up",
      };
    }),
  );
  const unformed = links.filter(({ formed }) => !formed).length;
  if (unformed > 0) return `${unformed} nodes do not see all nodes and slots`;
  const up = links.filter(({ isReplica, isUp }) => isReplica && isUp).length;
  return up === connections.length / 2 ? undefined : `${up} of ${connections.length / 2} replicas' links are up`;
}

function lastOf(seconds: readonly number[]): string {
  return (seconds.at(-1) ?? NaN).toFixed(2);
}
