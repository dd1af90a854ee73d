import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { PodDeployment } from "../../platforms/kubernetes/deployment";
import { isPodRunning, resourceName } from "../../platforms/kubernetes/api/pod-diagnostics";
import { formatLabelSelector, listPods } from "../../platforms/kubernetes/pods/running-pods";
import type { DeploymentNode } from "../../valkey/node";
import { awaitCondition } from "../../lib/polling";

const POLL_MS = 250;
/** A new pod may have to wait for a machine. */
const POD_TIMEOUT_MS = 240_000;

export class PodWatcher {
  /** A pod without an address keeps its last address. */
  nodes: readonly DeploymentNode[];
  #uids = new Map<string, string>();
  readonly #deletedUids = new Map<string, string>();
  readonly #closed = new AbortController();

  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly deployment: Pick<PodDeployment, "namespace" | "labels" | "nodes">,
    private readonly signal: AbortSignal,
  ) {
    this.nodes = deployment.nodes;
    void this.#watch();
  }

  close(): void {
    this.#closed.abort();
  }

  /** @param graceSeconds grace period, seconds; undefined for the grace period of the pod's spec */
  async delete(name: string, graceSeconds: number | undefined): Promise<void> {
    this.#deletedUids.set(name, this.#uids.get(name) ?? (await this.#uidOf(name)));
    const grace = graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds };
    const { namespace } = this.deployment;
    const deleted = this.kubernetes.core.deleteNamespacedPod({ namespace, name, ...grace });
    await this.kubernetes.find(`deleting pod ${name}`, deleted);
  }

  /** A recreated pod with the same name may exist already. */
  async awaitGone(name: string): Promise<void> {
    const isOther = (pod: V1Pod): boolean => resourceName(pod) !== name || this.#isRecreated(pod);
    await this.#awaitPods(`${name} has ended`, (pods) => pods.every(isOther));
  }

  /** Waits until every pod is recreated, runs and has an address. */
  async awaitRunning(names: readonly string[], container: string): Promise<void> {
    const isBack = (pod: V1Pod): boolean =>
      this.#isRecreated(pod) && isPodRunning(pod, container) && (pod.status?.podIP ?? "") !== "";
    const isRunning = (pods: readonly V1Pod[], name: string): boolean =>
      pods.some((pod) => resourceName(pod) === name && isBack(pod));
    await this.#awaitPods(`${names.join(", ")} run again`, (pods) => names.every((name) => isRunning(pods, name)));
    await this.refresh();
  }

  async refresh(): Promise<void> {
    const pods = await this.#list();
    this.#uids = new Map(pods.map((pod) => [resourceName(pod), pod.metadata?.uid ?? ""]));
    const addresses = new Map(pods.map((pod) => [resourceName(pod), pod.status?.podIP]));
    this.nodes = this.nodes.map((node) => {
      const host = addresses.get(node.name) ?? node.endpoint.host;
      return { ...node, endpoint: { ...node.endpoint, host } };
    });
  }

  #isRecreated(pod: V1Pod): boolean {
    return pod.metadata?.uid !== this.#deletedUids.get(resourceName(pod));
  }

  async #uidOf(name: string): Promise<string> {
    const pods = await this.#list();
    return pods.find((pod) => resourceName(pod) === name)?.metadata?.uid ?? "";
  }

  #list(): Promise<V1Pod[]> {
    const { namespace, labels } = this.deployment;
    return listPods(this.kubernetes, namespace, formatLabelSelector(labels));
  }

  async #awaitPods(what: string, condition: (pods: readonly V1Pod[]) => boolean): Promise<void> {
    const polling = { signal: this.signal, timeoutMs: POD_TIMEOUT_MS, intervalMs: POLL_MS };
    await awaitCondition(what, async () => condition(await this.#list()), polling);
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      // The next poll repeats a failed request.
      await this.refresh().catch(() => undefined);
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
