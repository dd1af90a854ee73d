/**
 * Objects that a stack renders, applied without an engine, and what its resources then do: rolled out, formed, checked, scaled
 * out and in under writes.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { V1PodDisruptionBudget } from "@kubernetes/client-node";
import type { TopologyRecord } from "../../../valkey/verification/topology-record";
import { EnginelessStack } from "../../support/kubernetes/engineless-stack";
import { isStaying, KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { writerPod, writtenKeys } from "../../support/kubernetes/writer-pod";

const LABELS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "cluster" };

/** Whether Kubernetes has counted its pods since it was made or changed. */
const hasCounted = ({ metadata, status }: V1PodDisruptionBudget): boolean =>
  status?.observedGeneration === metadata?.generation && status?.disruptionsAllowed === 1;

describe.skipIf(KUBECONFIG === undefined)(`a stack's objects on Kubernetes${WHERE}`, { timeout: 240_000 }, () => {
  const namespace = `valkey-scaling-${process.pid}`;
  let here: ThrowAway;
  let stack: EnginelessStack;
  const cluster = (primaries: number): object => ({
    mode: "cluster",
    primaries,
    settings: { maxmemory: "64mb", save: "", "cluster-node-timeout": 5000 },
  });

  /** Evicts a node and one of another group at the same time. */
  async function drainTwo([first, second]: TopologyRecord["shards"]): Promise<void> {
    const [mate = ""] = first?.replicas ?? [];
    await here.evict(first?.primary ?? "");
    await expect(here.evict(mate)).rejects.toThrow(/disruption budget/);
    await here.evict(second?.primary ?? "");
    await here.untilReady(LABELS, 10, 120);
  }

  beforeAll(async () => {
    here = await ThrowAway.at(namespace);
    stack = new EnginelessStack(here, "cluster", await here.zones());
  });
  afterAll(() => here.close());

  it("come up formed and verified, in a namespace that lets in restricted pods only, behind a NetworkPolicy", async () => {
    expect((await stack.bringTo(cluster(3))).verdict.pass).toBe(true);
    expect((await here.core.readNamespace({ name: namespace })).metadata?.labels).toMatchObject({
      "pod-security.kubernetes.io/enforce": "restricted",
    });
    const { objects } = await stack.render(cluster(3));
    const policy = objects.find(({ kind }) => kind === "NetworkPolicy");
    expect(await here.read(policy)).toMatchObject({
      spec: { podSelector: { matchLabels: LABELS }, policyTypes: ["Ingress", "Egress"] },
    });
  });

  it("are scaled out and in while a client writes, let one pod of each group of shards go, and keep every key", async () => {
    await here.apply([writerPod(namespace, "cluster", "cluster-password")]);
    for (const primaries of [5, 3]) {
      const { verdict, shards } = await stack.bringTo(cluster(primaries));
      expect(verdict.pass).toBe(true);
      await here.until(30, async () => ((await here.budgets()).every(hasCounted) ? undefined : "pods are not counted"));
      const budgets = await here.budgets();
      expect(budgets.map(({ status }) => status?.disruptionsAllowed)).toEqual(primaries === 5 ? [1, 1] : [1]);
      if (primaries === 5) await drainTwo(shards);
      expect((await here.pods(LABELS)).filter(isStaying)).toHaveLength(2 * primaries);
    }
    const { acknowledged, lost } = await writtenKeys(here);
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(lost).toEqual([]);
  });
});
