/**
 * Objects that a stack renders, applied without an engine, and what its resources then do: rolled out, formed, checked, scaled
 * out and in under writes.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { V1PodDisruptionBudget } from "@kubernetes/client-node";
import type { TopologyRecord } from "../../../benchmarks/results/schema";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { handler as scaleIn } from "../../../provider/handlers/scale-in";
import { handler as formation } from "../../../provider/handlers/formation";
import { handler as rollout } from "../../../provider/handlers/rollout";
import { handler as topologyCheck } from "../../../provider/handlers/topology-check";
import { parseConfig } from "../../../stacks/config/parse";
import { deployOnKubernetes } from "../../../stacks/program/platforms/kubernetes";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import type { KubernetesObject } from "../../support/kubernetes/kubernetes-objects";
import { renderObjects } from "../../support/kubernetes/kubernetes-objects";
import { outputValue } from "../../support/pulumi/pulumi-mocks";
import { isStaying, KUBECONFIG, ThrowAway, WHERE } from "../../support/kubernetes/throw-away";
import { valkeyCliScript, PRINT_ANSWERS, WRITER_POD, writerPod } from "../../support/kubernetes/writer-pod";

/** The password that the mocks generate. */
const password = "generated";
const timeoutSeconds = 120;
const storage = { size: "1Gi", template: "data", ephemeral: false, onDestroy: "delete" } as const;
const LABELS = { "app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": "cluster" };

/** Whether Kubernetes has counted its pods since it was made or changed. */
const hasCounted = ({ metadata, status }: V1PodDisruptionBudget): boolean =>
  status?.observedGeneration === metadata?.generation && status?.disruptionsAllowed === 1;

describe.skipIf(KUBECONFIG === undefined)(`a stack's objects on Kubernetes${WHERE}`, { timeout: 240_000 }, () => {
  const namespace = `valkey-scaling-${process.pid}`;
  let here: ThrowAway;
  let zones: string[];
  let before: KubernetesReference | undefined;

  async function render(
    primaries: number,
  ): Promise<{ readonly objects: KubernetesObject[]; readonly target: KubernetesReference }> {
    const config = parseConfig(
      "stack scaling",
      {
        platform: {
          type: "kubernetes",
          kubeconfig: KUBECONFIG,
          namespace,
          zones: zones.slice(0, 3),
          imagePullPolicy: "IfNotPresent",
          resources: { requests: { cpu: "50m", memory: "64Mi" }, limits: { cpu: "1", memory: "256Mi" } },
          storage: { size: storage.size },
        },
        deployments: {
          cluster: {
            mode: "cluster",
            primaries,
            settings: { maxmemory: "64mb", save: "", "cluster-node-timeout": 5000 },
          },
        },
      },
      { cores: 2, memoryBytes: 2 ** 34 },
    );
    const { platform } = config;
    if (platform.type !== "kubernetes") throw new Error("another platform was asked for");
    let deployed: ReturnType<typeof deployOnKubernetes> = [];
    const objects = await renderObjects(() => {
      deployed = deployOnKubernetes("scaling", platform, config);
    });
    const [cluster] = deployed;
    if (cluster === undefined) throw new Error("nothing is deployed");
    return { objects, target: (await outputValue(cluster.component.reference)) as KubernetesReference };
  }

  /** In the engine's order. @returns what the check found */
  async function bringTo(primaries: number): Promise<TopologyRecord> {
    const { objects, target } = await render(primaries);
    if (before !== undefined)
      await scaleIn.update?.(
        "",
        { target: before, password, timeoutSeconds },
        { target, password, timeoutSeconds },
        HANDLER_CONTEXT,
      );
    // As the component: an update leaves the budget as the last check has made it.
    await here.apply(before === undefined ? objects : objects.filter(({ kind }) => kind !== "PodDisruptionBudget"));
    await rollout.create({ target, password, revision: "", storage, timeoutSeconds }, HANDLER_CONTEXT);
    const formed = await formation.create({ target, password, timeoutSeconds }, HANDLER_CONTEXT);
    const formationMs = formed.outputs.milliseconds;
    const checked = await topologyCheck.create(
      { target, password, formationMs, revision: null, timeoutSeconds, trigger: 1 },
      HANDLER_CONTEXT,
    );
    before = target;
    return checked.outputs.topology;
  }

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
    zones = await here.zones();
  });
  afterAll(() => here.close());

  it("come up formed and verified, in a namespace that lets in restricted pods only, behind a NetworkPolicy", async () => {
    expect((await bringTo(3)).verdict.pass).toBe(true);
    expect((await here.core.readNamespace({ name: namespace })).metadata?.labels).toMatchObject({
      "pod-security.kubernetes.io/enforce": "restricted",
    });
    const { objects } = await render(3);
    const policy = objects.find(({ kind }) => kind === "NetworkPolicy");
    expect(await here.read(policy)).toMatchObject({
      spec: { podSelector: { matchLabels: LABELS }, policyTypes: ["Ingress", "Egress"] },
    });
  });

  it("are scaled out and in while a client writes, let one pod of each group of shards go, and keep every key", async () => {
    await here.apply([writerPod(namespace, "cluster", "cluster-password")]);
    for (const primaries of [5, 3]) {
      const { verdict, shards } = await bringTo(primaries);
      expect(verdict.pass).toBe(true);
      await here.until(30, async () => ((await here.budgets()).every(hasCounted) ? undefined : "pods are not counted"));
      const budgets = await here.budgets();
      expect(budgets.map(({ status }) => status?.disruptionsAllowed)).toEqual(primaries === 5 ? [1, 1] : [1]);
      if (primaries === 5) await drainTwo(shards);
      expect((await here.pods(LABELS)).filter(isStaying)).toHaveLength(2 * primaries);
    }
    const lines = (await here.run(WRITER_POD, WRITER_POD, PRINT_ANSWERS)).trim().split("\n");
    const acknowledged = lines.filter((line) => line.endsWith(" OK")).map((line) => line.split(" ")[0] ?? "");
    const values = new Set(
      (
        await here.run(
          WRITER_POD,
          WRITER_POD,
          valkeyCliScript(`seq ${lines.length} | while read -r number; do echo "GET number:$number"; done`),
        )
      ).split("\n"),
    );
    expect(acknowledged.length).toBeGreaterThan(20);
    expect(acknowledged.filter((number) => !values.has(number))).toEqual([]);
  });
});
