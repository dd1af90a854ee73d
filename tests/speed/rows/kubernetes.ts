/**
 * On a real Kubernetes: the time of a stack from nothing, and of the formation of six pods beside `valkey-cli --cluster
 * create`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { withConnections } from "../../../valkey/connections";
import type { Deployment } from "../../../valkey/deployment";
import { formatEndpoint } from "../../../valkey/node";
import { Failure } from "../../../lib/errors";
import { form } from "../../../valkey/formation/form";
import { awaitPodDeployment } from "../../../platforms/kubernetes/deployment";
import { median } from "../../../lib/statistics/median";
import { verdictLine } from "../../../valkey/verification/format";
import { verify } from "../../../valkey/verification/verify";
import { pulumiPath } from "../../support/pulumi/pulumi-stack";
import type { TestServers } from "../../support/kubernetes/test-servers";
import { applyServers, testServers } from "../../support/kubernetes/test-servers";
import { KUBECONFIG, ThrowAway, openThrowAwayClient } from "../../support/kubernetes/throw-away";
import type { Benchmark, BenchmarkContext } from "../benchmark";
import { missing, PATIENCE_MS, UP_BEFORE_MS } from "./formation";
import { bringUp } from "./kubernetes-up";
import type { BenchRow } from "../row";
import { atLeast, atMost, comparedRow, singleRow } from "../row";

const UP = "kubernetes-up";
const UNCHANGED = "kubernetes-up-unchanged";
const FORMATION = "kubernetes-formation-6";
const VERIFICATION = "kubernetes-verification-6";

const IDS = [UP, UNCHANGED, FORMATION, VERIFICATION];
const SHAPE = { primaries: 3, replicasPerPrimary: 1 };
/** Taken in turns; ours come first and last. */
const REPEATS = { ours: 3, reference: 2 };
const VERDICTS = 5;

export const kubernetes: Benchmark = {
  title: "On Kubernetes, beside valkey-cli --cluster create in a pod",
  ids: IDS,
  run: async (context) => {
    const { wanted, skip } = context;
    if (KUBECONFIG === undefined) {
      for (const id of IDS) if (wanted.has(id)) skip(id, "VALKEY_TEST_KUBECONFIG names no throw-away cluster");
      return;
    }
    if (wanted.has(UP) || wanted.has(UNCHANGED)) await measureUp(context);
    if (wanted.has(FORMATION) || wanted.has(VERIFICATION)) await measureFormation(context);
  },
};

async function measureUp({ wanted, report, skip, emit }: BenchmarkContext): Promise<void> {
  const { seconds, what, unchanged } = await bringUp();
  report(`${seconds.toFixed(0)} s: ${what}`);
  if (wanted.has(UP))
    emit(singleRow({ id: UP, what, unit: "s" }, seconds, atMost(pulumiPath() === undefined ? 60 : 120)));
  if (!wanted.has(UNCHANGED)) return;
  if (unchanged.length === 0) {
    skip(UNCHANGED, "there is no Pulumi CLI");
    return;
  }
  const repeated = `the same pulumi up again, which changes nothing, median of ${unchanged.length}`;
  emit(singleRow({ id: UNCHANGED, what: repeated, unit: "s" }, median(unchanged), atMost(7)));
}

async function measureFormation({ wanted, report, emit, workbench: { signal } }: BenchmarkContext): Promise<void> {
  const cluster = await openThrowAwayClient();
  const here = await ThrowAway.open();
  const ours: number[] = [];
  const reference: number[] = [];
  const verdicts: number[] = [];
  /** Runs `use` on fresh pods. */
  const withPods = async (
    name: string,
    use: (deployment: Deployment, servers: TestServers) => Promise<void>,
  ): Promise<void> => {
    signal.throwIfAborted();
    const servers = testServers({ name, shape: SHAPE });
    await use(
      await awaitPodDeployment(cluster, await applyServers(here, servers), { timeoutMs: PATIENCE_MS, signal }),
      servers,
    );
    await cluster.apps.deleteNamespacedStatefulSet({ namespace: here.namespace, name });
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
      if (round > REPEATS.reference || !wanted.has(FORMATION)) continue;
      await withPods(`tool-${round}`, async (deployment) => {
        reference.push(await timeToForm(deployment, () => createByTool(deployment, here.namespace)));
        report(`${lastOf(reference)} s by valkey-cli --cluster create in a pod`);
      });
    }
    if (wanted.has(FORMATION)) emit(formationRow(ours, reference));
    if (wanted.has(VERIFICATION)) emit(verificationRow(verdicts));
  } finally {
    await here.close();
  }
}

function formationRow(ours: readonly number[], reference: readonly number[]): BenchRow {
  const what =
    "formation of six running pods through port-forwards until all replica links are up, medians of " +
    `${ours.length} and ${reference.length}; ratio: how many times as long valkey-cli --cluster create takes in a pod`;
  const medians = { ours: median(ours), reference: median(reference) };
  return comparedRow({ id: FORMATION, what, unit: "s" }, medians, "reference/ours", atLeast(1));
}

function verificationRow(verdicts: readonly number[]): BenchRow {
  const what = `verdict on the six pods, each asked through its own port-forward, median of ${verdicts.length}`;
  return singleRow({ id: VERIFICATION, what, unit: "s" }, median(verdicts), atMost(2));
}

/** @returns seconds from the procedure's start until every node reports a whole cluster */
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
        throw new Failure(`six pods are not a cluster after ${PATIENCE_MS / 1000} s: ${what}`);
      await sleep(25);
    }
    return (performance.now() - began) / 1000;
  });
}

/** Runs in the first pod, which has the password in its environment. */
async function createByTool({ nodes }: Deployment, namespace: string): Promise<void> {
  const addresses = nodes.map(({ endpoint }) => formatEndpoint(endpoint)).join(" ");
  await (
    await ThrowAway.at(namespace)
  ).run(
    nodes[0]?.name ?? "",
    "valkey",
    'VALKEYCLI_AUTH="$PASSWORD" REDISCLI_AUTH="$PASSWORD" valkey-cli --cluster create ' +
      `${addresses} --cluster-replicas 1 --cluster-yes`,
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
