/**
 * On a real Kubernetes: the time of both topologies to start, and of six pods to form a cluster, beside `valkey-cli
 * --cluster create`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { withConnections } from "../../valkey/connections";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { Failure } from "../../lib/errors";
import { form } from "../../valkey/formation/form";
import { awaitKubernetesDeployment } from "../../platforms/kubernetes/deployment";
import { median } from "../../lib/statistics/median";
import { verdictLine } from "../../valkey/verification/format";
import { verify } from "../../valkey/verification/verify";
import { pulumiPath } from "../support/pulumi-stack";
import type { TestServers } from "../support/kubernetes";
import { openThrowaway, TestNamespace, testServers, THROWAWAY } from "../support/kubernetes";
import { ThrowAway } from "../support/throw-away";
import type { Benchmark, BenchmarkContext } from "./benchmark";
import { missing, PATIENCE_MS, UP_BEFORE_MS } from "./formation";
import { bringUp } from "./kubernetes-up";
import { singleRow, atLeast, atMost, comparedRow } from "./row";

const UP = "kubernetes-up";
const FORMATION = "kubernetes-formation-6";
const CREATE = "kubernetes-formation-6-create";
const VERIFICATION = "kubernetes-verification-6";

const IDS = [UP, FORMATION, CREATE, VERIFICATION];
const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
/** Repeats in turn, ours first and last. */
const REPEATS = { ours: 3, reference: 2 };
const VERDICTS = 5;

export const kubernetes: Benchmark = {
  title: "On Kubernetes, beside valkey-cli --cluster create in a pod",
  ids: IDS,
  run: async (order) => {
    const { wanted, skip } = order;
    if (THROWAWAY === undefined) {
      for (const id of IDS) if (wanted.has(id)) skip(id, "VALKEY_TEST_KUBECONFIG names no throw-away cluster");
      return;
    }
    if (wanted.has(UP)) await measureUp(order);
    if (wanted.has(FORMATION) || wanted.has(CREATE) || wanted.has(VERIFICATION)) await measureFormation(order);
  },
};

async function measureUp({ report, emit }: BenchmarkContext): Promise<void> {
  const { seconds, what } = await bringUp();
  report(`${seconds.toFixed(0)} s: ${what}`);
  emit(singleRow({ id: UP, what, unit: "s" }, seconds, atMost(pulumiPath() === undefined ? 60 : 120)));
}

async function measureFormation({ wanted, report, emit, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const cluster = await openThrowaway();
  const namespace = await TestNamespace.create(cluster);
  const ours: number[] = [];
  const reference: number[] = [];
  const verdicts: number[] = [];
  /** On fresh pods of their own. */
  const withPods = async (
    name: string,
    use: (deployment: Deployment, servers: TestServers) => Promise<void>,
  ): Promise<void> => {
    signal.throwIfAborted();
    const servers = testServers({ name, shape: SHAPE });
    await use(
      await awaitKubernetesDeployment(cluster, await namespace.apply(servers), { timeoutMs: PATIENCE_MS, signal }),
      servers,
    );
    await cluster.apps.deleteNamespacedStatefulSet({ namespace: namespace.name, name });
  };
  try {
    for (let round = 1; round <= REPEATS.ours; round++) {
      await withPods(`ours-${round}`, async (deployment) => {
        ours.push(
          await timeToForm(deployment, async () => {
            await form(deployment, SHAPE, { signal });
          }),
        );
        report(`${lastOf(ours)} s by this project`);
        if (wanted.has(VERIFICATION) && round === 1)
          for (let each = 0; each < VERDICTS; each++) verdicts.push(await timeOfVerdict(deployment));
      });
      if (round > REPEATS.reference || !wanted.has(CREATE)) continue;
      await withPods(`tool-${round}`, async (deployment) => {
        reference.push(await timeToForm(deployment, () => createByTool(deployment, namespace.name)));
        report(`${lastOf(reference)} s by valkey-cli --cluster create in a pod`);
      });
    }
  } finally {
    await namespace.remove();
  }
  if (wanted.has(FORMATION))
    emit(
      singleRow(
        {
          id: FORMATION,
          what: `formation of six running pods until all replica links are up, median of ${ours.length}`,
          unit: "s",
        },
        median(ours),
        atMost(3),
      ),
    );
  if (reference.length > 0)
    emit(
      comparedRow(
        {
          id: CREATE,
          what: `valkey-cli --cluster create in a pod over our formation, medians of ${reference.length} and ${ours.length}`,
          unit: "s",
        },
        { ours: median(ours), reference: median(reference) },
        "reference/ours",
        atLeast(1),
      ),
    );
  if (verdicts.length > 0)
    emit(
      singleRow(
        {
          id: VERIFICATION,
          what: `verification of the six pods over port-forwards, median of ${verdicts.length}`,
          unit: "s",
        },
        median(verdicts),
        atMost(2),
      ),
    );
}

/** From the procedure's start until its end and until every node says that all is well. @returns seconds */
async function timeToForm(deployment: Deployment, procedure: () => Promise<void>): Promise<number> {
  await sleep(UP_BEFORE_MS);
  return withConnections(deployment, async (connections) => {
    const began = performance.now();
    await procedure();
    for (
      let what = await missing([...connections.values()]);
      what !== undefined;
      what = await missing([...connections.values()])
    ) {
      if (performance.now() - began > PATIENCE_MS)
        throw new Failure(`six pods are no cluster after ${PATIENCE_MS / 1000} s: ${what}`);
      await sleep(25);
    }
    return (performance.now() - began) / 1000;
  });
}

/** In the first pod, where its password is in the environment. */
async function createByTool({ nodes }: Deployment, namespace: string): Promise<void> {
  const addresses = nodes.map(({ endpoint }) => formatEndpoint(endpoint)).join(" ");
  await (
    await ThrowAway.at(namespace)
  ).run(
    nodes[0]?.name ?? "",
    "valkey",
    `VALKEYCLI_AUTH="$PASSWORD" REDISCLI_AUTH="$PASSWORD" valkey-cli --cluster create ${addresses} --cluster-replicas 1 --cluster-yes`,
  );
}

async function timeOfVerdict(deployment: Deployment): Promise<number> {
  const began = performance.now();
  const { verdict } = await verify(deployment);
  const seconds = (performance.now() - began) / 1000;
  if (!verdict.pass) throw new Failure(verdictLine(verdict));
  return seconds;
}

function lastOf(times: readonly number[]): string {
  return (times.at(-1) ?? NaN).toFixed(2);
}
