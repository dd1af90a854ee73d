/** Formation and verification beside valkey-cli, on this machine and in pods, and the time of a stack from nothing. */
import { setTimeout as sleep } from "node:timers/promises";
import { linearRegression } from "simple-statistics";
import { Failure } from "../../lib/errors";
import { median } from "../../lib/statistics/median";
import type { Connection } from "../../valkey/connection";
import { withConnections } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import { form } from "../../valkey/formation/form";
import { formatEndpoint } from "../../valkey/node";
import { infoNumber, parseInfo } from "../../valkey/topology/replies";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import { verdictLine } from "../../valkey/verification/format";
import { verify } from "../../valkey/verification/verify";
import type { BenchServers, Benchmark, BenchmarkContext, Workbench } from "../workbench";
import { NO_KUBERNETES, NO_STACK, alternatingSides, hostPlan, lastOf, runDirectly, secondsOf } from "../workbench";
import { type RowTarget, atLeast, atMost, below, comparedRow, singleRow } from "../row";
import { awaitPodDeployment } from "../../platforms/kubernetes/deployment";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { readStackFile } from "../../stacks/config/sections/stack-file";
import { outputsSchema } from "../../stacks/program/outputs";
import { applyServers, testServers } from "../../tests/support/kubernetes/test-servers";
import { KUBECONFIG, ThrowAway, openThrowAwayClient } from "../../tests/support/kubernetes/throw-away";
import { PulumiStack } from "../../tests/support/pulumi/pulumi-stack";

/**
 * Numbers of nodes, and targets for valkey-cli's time relative to ours. 6: the cluster of "Valkey on EKS", which must
 * not form more slowly than by valkey-cli. 200: as many as fit a small machine.
 */
const SIZES: readonly (readonly [nodes: number, target: RowTarget])[] = [
  [6, atLeast(1)],
  [48, atLeast(8)],
  [200, atLeast(6)],
];
const GROWTH_NODES: readonly number[] = [6, 24, 48, 96];
const GROWTH = "formation-growth";
/** Taken in turns; ours come first and last. */
const REPEATS = { ours: 3, reference: 2 };
/**
 * A primary takes no part in a cluster for 2 s after its start (CLUSTER_WRITABLE_DELAY); formation is measured after
 * that.
 */
export const UP_BEFORE_MS = 2200;
const PATIENCE_MS = 180_000;

const FORMATION_TITLE = "Formation, beside valkey-cli --cluster create";
/** Our medians by number of nodes, which the growth is fitted to if they were measured already. */
const known = new Map<number, number>();

export const formation: readonly Benchmark[] = [
  ...SIZES.map(([nodes, target]) => ({
    title: FORMATION_TITLE,
    ids: [`formation-${nodes}`],
    run: (context: BenchmarkContext): Promise<void> => measureBoth(nodes, target, context),
  })),
  { title: FORMATION_TITLE, ids: [GROWTH], run: measureGrowth },
];

async function measureGrowth({ workbench, report, emit }: BenchmarkContext): Promise<void> {
  const points: [nodes: number, seconds: number][] = [];
  for (const nodes of GROWTH_NODES) {
    const times: number[] = [];
    while (!known.has(nodes) && times.length < REPEATS.ours) {
      times.push(await timeToForm(workbench, nodes, thisProject));
      report(`${nodes} nodes: ${lastOf(times)} s by this project`);
    }
    points.push([nodes, known.get(nodes) ?? median(times)]);
  }
  const what = `growth of our formation time t ~ N^x over ${GROWTH_NODES.join(", ")} nodes, fitted to log t over log N`;
  emit(singleRow({ id: GROWTH, what, unit: "exponent" }, exponent(points), below(1.5)));
}

/** The exponent x of y ~ n^x, by least squares of the logarithms. Pure. */
export function exponent(points: readonly (readonly [n: number, y: number])[]): number {
  return linearRegression(points.map(([n, y]) => [Math.log(n), Math.log(y)])).m;
}

async function measureBoth(nodes: number, target: RowTarget, context: BenchmarkContext): Promise<void> {
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
  known.set(nodes, medians.ours);
  emit(comparedRow({ id: `formation-${nodes}`, what, unit: "s" }, medians, "reference/ours", target));
}

type Procedure = (servers: BenchServers, deployment: Deployment) => Promise<unknown>;

const thisProject: Procedure = ({ signal }, deployment) =>
  form(deployment, shapeOf(deployment.nodes.length), { signal });

const valkeyCli: Procedure = ({ host, signal }, deployment) => {
  const addresses = deployment.nodes.map(({ endpoint }) => formatEndpoint(endpoint));
  const args = ["--cluster", "create", ...addresses, "--cluster-replicas", "1", "--cluster-yes"];
  return runDirectly(host.programs.cli, args, { run: host.run, signal, password: deployment.access.password });
};

const shapeOf = (nodes: number): { primaries: number; replicasPerPrimary: number } => ({
  primaries: nodes / 2,
  replicasPerPrimary: 1,
});

function timeToForm(bench: Workbench, nodes: number, procedure: Procedure): Promise<number> {
  return bench.withDeployment(hostPlan("cluster", "cluster", shapeOf(nodes)), (servers) =>
    secondsToForm(servers.deployment, () => procedure(servers, servers.deployment), servers.signal),
  );
}

/** @returns seconds from the procedure's start until every node reports a whole cluster */
async function secondsToForm(
  deployment: Deployment,
  procedure: () => Promise<unknown>,
  signal: AbortSignal,
): Promise<number> {
  const nodes = deployment.nodes.length;
  await sleep(UP_BEFORE_MS, undefined, { signal });
  return withConnections(deployment, async (connections) => {
    const began = performance.now();
    await procedure();
    for (;;) {
      const what = await missing([...connections.values()]);
      const elapsed = performance.now() - began;
      if (what === undefined) return elapsed / 1000;
      if (elapsed > PATIENCE_MS)
        throw new Failure(`${nodes} nodes are not a cluster after ${PATIENCE_MS / 1000} s: ${what}`);
      await sleep(Math.min(250, Math.max(25, nodes / 2)), undefined, { signal });
    }
  });
}

/** Part that a cluster still lacks by its nodes' replies; undefined when it lacks nothing. Shares no code with formation. */
async function missing(connections: readonly Connection[]): Promise<string | undefined> {
  const links = await Promise.all(
    connections.map(async (connection) => {
      const [cluster, replication] = (
        await Promise.all([connection.cluster("INFO"), connection.info("replication")])
      ).map(parseInfo);
      const formed =
        cluster?.get("cluster_state") === "ok" &&
        infoNumber(cluster, "cluster_slots_ok") === SLOT_COUNT &&
        infoNumber(cluster, "cluster_known_nodes") === connections.length;
      const isUp = replication?.get("role") === "slave" && replication.get("master_link_status") === "up";
      return { formed, isUp };
    }),
  );
  const unformed = links.filter(({ formed }) => !formed).length;
  if (unformed > 0) return `${unformed} nodes do not see all nodes and slots`;
  const up = links.filter(({ isUp }) => isUp).length;
  return up === connections.length / 2 ? undefined : `${up} of ${connections.length / 2} replicas' links are up`;
}

const PAIRS = 11;
const COMPARED = 96;
/** As many nodes as a small machine runs. Their target is in seconds: valkey-cli asks one node and this project all. */
const LARGE = 200;

export const verification: readonly Benchmark[] = [COMPARED, LARGE].map((nodes) => ({
  title: "Verification, beside valkey-cli --cluster check",
  ids: [`verification-${nodes}`],
  run: async ({ workbench, report, emit }): Promise<void> => {
    const shape = shapeOf(nodes);
    await workbench.withDeployment(hostPlan("cluster", "cluster", shape), async (servers) => {
      const { deployment, signal } = servers;
      await form(deployment, shape, { signal });
      const times = { ours: [] as number[], reference: [] as number[] };
      for (const side of alternatingSides(PAIRS)) {
        signal.throwIfAborted();
        times[side].push(await (side === "ours" ? secondsOfVerdict(deployment) : secondsOfCheck(servers, deployment)));
      }
      const how = `every node asked over its own connection, medians of ${PAIRS} (first time ${times.ours[0]?.toFixed(3)} s)`;
      const what = `verification of ${nodes} nodes over valkey-cli --cluster check, ${how}`;
      const head = { id: `verification-${nodes}`, what, unit: "s" };
      const { ours, reference } = { ours: median(times.ours), reference: median(times.reference) };
      report(`${nodes} nodes: ${ours.toFixed(3)} s by this project, ${reference.toFixed(3)} s by --cluster check`);
      emit(
        nodes === LARGE
          ? singleRow(head, ours, atMost(2), reference)
          : comparedRow(head, { ours, reference }, "ours/reference", atMost(3)),
      );
    });
  },
}));

/** @throws Failure if the deployment does not pass */
export function secondsOfVerdict(deployment: Deployment): Promise<number> {
  return secondsOf(async () => {
    const { verdict } = await verify(deployment);
    if (!verdict.pass) throw new Failure(verdictLine(verdict));
  });
}

async function secondsOfCheck({ host, signal }: BenchServers, { nodes: [node], access }: Deployment): Promise<number> {
  if (node === undefined) throw new Error("a deployment without nodes");
  const args = ["--cluster", "check", formatEndpoint(node.endpoint)];
  return (await runDirectly(host.programs.cli, args, { run: host.run, signal, password: access.password })).seconds;
}

const PODS_TITLE = "On Kubernetes, beside valkey-cli --cluster create in a pod";
const [UP, UNCHANGED] = ["kubernetes-up", "kubernetes-up-unchanged"] as const;
const [FORMATION, VERIFICATION] = ["kubernetes-formation-6", "kubernetes-verification-6"] as const;
const VERDICTS = 5;
const UNCHANGED_UPDATES = 5;

export const kubernetes: readonly Benchmark[] = [
  { title: PODS_TITLE, ids: [UP, UNCHANGED], missing: NO_STACK, run: measureUp },
  { title: PODS_TITLE, ids: [FORMATION, VERIFICATION], missing: NO_KUBERNETES, run: measureFormation },
];

/** Deploys the stack `kind` in a namespace of its own, and removes it again. */
async function measureUp({ wanted, report, emit }: BenchmarkContext): Promise<void> {
  const sections = readStackFile(STACKS_DIRECTORY, "kind") as Record<string, Record<string, unknown> | undefined>;
  const namespace = `valkey-bench-${process.pid}`;
  const zones = (await (await ThrowAway.at(namespace)).zones()).slice(0, 3);
  const platform = { ...sections["platform"], namespace, kubeconfig: KUBECONFIG, zones };
  const trial = await PulumiStack.open({ platform, deployments: sections["deployments"] ?? {} });
  try {
    const seconds = await secondsOf(() => trial.up({ expectNoChanges: false }));
    const { topologies } = outputsSchema.parse((await trial.stack.outputs())["valkey"]?.value);
    const formationMs = topologies.find(({ deployment }) => deployment === "cluster")?.formationMs ?? NaN;
    const names = topologies.map(({ deployment }) => deployment).join(" and ");
    const what = `pulumi up of ${names} with checks, from nothing; of it formation ${(formationMs / 1000).toFixed(2)} s`;
    report(`${seconds.toFixed(0)} s: ${what}`);
    emit(singleRow({ id: UP, what, unit: "s" }, seconds, atMost(120)));
    if (!wanted.has(UNCHANGED)) return;
    const unchanged: number[] = [];
    while (unchanged.length < UNCHANGED_UPDATES)
      unchanged.push(await secondsOf(() => trial.up({ expectNoChanges: true })));
    const repeated = `the same pulumi up again, which changes nothing, median of ${unchanged.length}`;
    emit(singleRow({ id: UNCHANGED, what: repeated, unit: "s" }, median(unchanged), atMost(7)));
  } finally {
    await trial.stack.destroy();
    await trial.close();
  }
}

async function measureFormation({ wanted, report, emit, signal }: BenchmarkContext): Promise<void> {
  const cluster = await openThrowAwayClient();
  const here = await ThrowAway.open();
  const [ours, reference, verdicts]: [number[], number[], number[]] = [[], [], []];
  const withPods = async (name: string, use: (deployment: Deployment) => Promise<void>): Promise<void> => {
    signal.throwIfAborted();
    const plan = await applyServers(here, testServers({ name, shape: shapeOf(6) }));
    await use(await awaitPodDeployment(cluster, plan, { timeoutMs: PATIENCE_MS, signal }));
    await cluster.apps.deleteNamespacedStatefulSet({ namespace: here.namespace, name });
  };
  try {
    for (let round = 1; round <= REPEATS.ours; round++) {
      await withPods(`ours-${round}`, async (deployment) => {
        ours.push(await secondsToForm(deployment, () => form(deployment, shapeOf(6), { signal }), signal));
        report(`${lastOf(ours)} s by this project`);
        if (wanted.has(VERIFICATION) && round === 1)
          while (verdicts.length < VERDICTS) verdicts.push(await secondsOfVerdict(deployment));
      });
      if (round > REPEATS.reference || !wanted.has(FORMATION)) continue;
      await withPods(`tool-${round}`, async (deployment) => {
        reference.push(await secondsToForm(deployment, () => createByTool(deployment, here), signal));
        report(`${lastOf(reference)} s by valkey-cli --cluster create in a pod`);
      });
    }
  } finally {
    await here.close();
  }
  const formed =
    "formation of six running pods through port-forwards until all replica links are up, medians of " +
    `${ours.length} and ${reference.length}; ratio: how many times as long valkey-cli --cluster create takes in a pod`;
  const verified = `verdict on the six pods, each asked through its own port-forward, median of ${verdicts.length}`;
  if (wanted.has(FORMATION)) {
    const medians = { ours: median(ours), reference: median(reference) };
    emit(comparedRow({ id: FORMATION, what: formed, unit: "s" }, medians, "reference/ours", atLeast(1)));
  }
  if (wanted.has(VERIFICATION))
    emit(singleRow({ id: VERIFICATION, what: verified, unit: "s" }, median(verdicts), atMost(2)));
}

/** Runs in the first pod, which has the password in its environment. */
async function createByTool({ nodes }: Deployment, here: ThrowAway): Promise<void> {
  const addresses = nodes.map(({ endpoint }) => formatEndpoint(endpoint)).join(" ");
  const create = `valkey-cli --cluster create ${addresses} --cluster-replicas 1 --cluster-yes`;
  const script = `VALKEYCLI_AUTH="$PASSWORD" REDISCLI_AUTH="$PASSWORD" ${create}`;
  await here.run(nodes[0]?.name ?? "", "valkey", script);
}
