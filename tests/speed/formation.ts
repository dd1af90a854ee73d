/** How long it takes until nodes that run are a cluster: formCluster beside `valkey-cli --cluster create`. */
import { setTimeout as sleep } from "node:timers/promises";
import { linearRegression } from "simple-statistics";
import type { Connection } from "../../valkey/connection";
import { withConnections } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { Failure } from "../../lib/errors";
import { form } from "../../valkey/formation/form";
import { median } from "../../lib/statistics/median";
import { infoNumber, parseInfo } from "../../valkey/topology/info";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import type { Benchmark, BenchmarkContext } from "./benchmark";
import type { RowTarget } from "./row";
import { singleRow, atLeast, below, comparedRow } from "./row";
import type { BenchServers, Workbench } from "./workbench";
import { runDirectly, hostPlan } from "./workbench";

interface Size {
  readonly nodes: number;
  /** Of valkey-cli's time over ours. */
  readonly target: RowTarget;
}

/** S1's cluster has 6. The issue has no target for the two small ones: they must not be slower than valkey-cli. */
const SIZES: readonly Size[] = [
  { nodes: 6, target: atLeast(1) },
  { nodes: 24, target: atLeast(1) },
  { nodes: 48, target: atLeast(8) },
  { nodes: 96, target: atLeast(6) },
];
/** As many as fit the memory of a small machine; no part of the growth, which would take as long again. */
const LARGE: Size = { nodes: 200, target: atLeast(6) };

const GROWTH = "formation-growth";
const GROWTH_TARGET = below(1.5);
/** In turn, ours first and last. */
const REPEATS = { ours: 3, reference: 2 };

/** A primary that started less than 2 s ago takes no part yet (CLUSTER_WRITABLE_DELAY): that wait is none of formation's. */
export const UP_BEFORE_MS = 2200;
export const PATIENCE_MS = 180_000;

const idOf = ({ nodes }: Size): string => `formation-${nodes}`;

export const formation: Benchmark = {
  title: "Formation, beside valkey-cli --cluster create",
  ids: [...SIZES.map(idOf), idOf(LARGE), GROWTH],
  run: async (order) => {
    const sizes = SIZES.filter((size) => order.wanted.has(idOf(size)) || order.wanted.has(GROWTH));
    const times: { readonly nodes: number; readonly ours: number }[] = [];
    if (order.wanted.has(idOf(LARGE))) await measureSize(LARGE, order);
    for (const size of sizes) times.push({ nodes: size.nodes, ours: await measureSize(size, order) });
    if (!order.wanted.has(GROWTH)) return;
    const what = `growth of our formation time t ~ N^x over ${sizes.map(({ nodes }) => nodes).join(", ")} nodes, fitted to log t over log N`;
    order.emit(
      singleRow(
        { id: GROWTH, what, unit: "exponent" },
        exponent(times.map(({ nodes, ours }) => [nodes, ours])),
        GROWTH_TARGET,
      ),
    );
  },
};

/** The x of y ~ n^x that fits best, by least squares of the logarithms. Pure. */
export function exponent(points: readonly (readonly [n: number, y: number])[]): number {
  return linearRegression(points.map(([n, y]) => [Math.log(n), Math.log(y)])).m;
}

/** @returns our median, seconds */
async function measureSize(size: Size, { workbench, wanted, report, emit }: BenchmarkContext): Promise<number> {
  const { nodes, target } = size;
  const ours: number[] = [];
  const reference: number[] = [];
  for (let round = 1; round <= REPEATS.ours; round++) {
    ours.push(await timeToForm(workbench, nodes, thisProject));
    report(`${nodes} nodes: ${lastOf(ours)} s by this project`);
    if (round <= REPEATS.reference && wanted.has(idOf(size))) {
      reference.push(await timeToForm(workbench, nodes, valkeyCli));
      report(`${nodes} nodes: ${lastOf(reference)} s by valkey-cli --cluster create`);
    }
  }
  const what = `formation of ${nodes} nodes until all replica links are up, medians of ${ours.length} and ${reference.length}; valkey-cli --cluster create takes so many times as long`;
  if (reference.length > 0)
    emit(
      comparedRow(
        { id: idOf(size), what, unit: "s" },
        { ours: median(ours), reference: median(reference) },
        "reference/ours",
        target,
      ),
    );
  return median(ours);
}

/** Makes a cluster of the first deployment's nodes. */
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

/** On fresh servers, from the procedure's start until its end and until every node says that all is well. @returns seconds */
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
          throw new Failure(`${nodes} nodes are no cluster after ${PATIENCE_MS / 1000} s: ${what}`);
        await sleep(every, undefined, { signal });
      }
      return (performance.now() - began) / 1000;
    });
  });
}

/** Asked of every node alike, whoever formed the cluster, and by none of the code that forms one. */
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
