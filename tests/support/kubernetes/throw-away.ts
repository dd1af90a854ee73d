/**
 * Real Kubernetes for tests: only where a variable names a cluster that may be written to, and in a namespace of their
 * own.
 */
import type * as ClientNode from "@kubernetes/client-node";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { holdsInTime } from "../../../lib/polling";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import type { KubernetesObject } from "./kubernetes-objects";

/** Path of a kubeconfig whose current context is a cluster that tests may do anything to. */
export const KUBECONFIG = process.env["VALKEY_TEST_KUBECONFIG"];
export const WHERE = KUBECONFIG === undefined ? " (skipped: VALKEY_TEST_KUBECONFIG names no throw-away cluster)" : "";

const ZONE = "topology.kubernetes.io/zone";
const POLL_MS = 500;

export function openThrowAwayClient(): Promise<KubernetesClient> {
  return KubernetesClient.open({ kubeconfig: KUBECONFIG });
}

export class ThrowAway {
  private constructor(
    private readonly library: typeof ClientNode,
    private readonly config: ClientNode.KubeConfig,
    readonly namespace: string,
  ) {}

  static #opened = 0;

  /** A fresh namespace in which only pods of the restricted Pod Security Standard are let in. */
  static async open(): Promise<ThrowAway> {
    // Several may be opened in the same millisecond.
    const unique = `${process.pid}-${Date.now().toString(36)}-${ThrowAway.#opened++}`;
    const here = await ThrowAway.at(`valkey-test-${unique}`);
    await here.apply([
      {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: here.namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
      },
    ]);
    return here;
  }

  static async at(namespace: string): Promise<ThrowAway> {
    const library = await import("@kubernetes/client-node");
    const config = new library.KubeConfig();
    config.loadFromFile(KUBECONFIG ?? "");
    return new ThrowAway(library, config, namespace);
  }

  get apps(): ClientNode.AppsV1Api {
    return this.config.makeApiClient(this.library.AppsV1Api);
  }

  get batch(): ClientNode.BatchV1Api {
    return this.config.makeApiClient(this.library.BatchV1Api);
  }

  get core(): ClientNode.CoreV1Api {
    return this.config.makeApiClient(this.library.CoreV1Api);
  }

  get storage(): ClientNode.StorageV1Api {
    return this.config.makeApiClient(this.library.StorageV1Api);
  }

  async apply(objects: readonly KubernetesObject[]): Promise<void> {
    const api = this.library.KubernetesObjectApi.makeApiClient(this.config);
    for (const object of objects) {
      await api.patch(object, undefined, undefined, "valkey-test", true, this.library.PatchStrategy.ServerSideApply);
    }
  }

  async read(object: KubernetesObject | undefined): Promise<unknown> {
    if (object === undefined) throw new Error("there is no such object");
    const {
      apiVersion,
      kind,
      metadata: { name },
    } = object;
    return this.library.KubernetesObjectApi.makeApiClient(this.config).read({
      apiVersion,
      kind,
      metadata: { name, namespace: this.namespace },
    });
  }

  async pods(labels: Readonly<Record<string, string>>): Promise<ClientNode.V1Pod[]> {
    const labelSelector = Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(",");
    return (await this.core.listNamespacedPod({ namespace: this.namespace, labelSelector })).items;
  }

  async budgets(): Promise<ClientNode.V1PodDisruptionBudget[]> {
    const policy = this.config.makeApiClient(this.library.PolicyV1Api);
    return (await policy.listNamespacedPodDisruptionBudget({ namespace: this.namespace })).items;
  }

  /** @throws the API server's refusal where a disruption budget does not let the pod go */
  async evict(name: string): Promise<void> {
    const { namespace } = this;
    const body: Plain<ClientNode.V1Eviction> = { metadata: { name, namespace } };
    await this.core.createNamespacedPodEviction({ name, namespace, body });
  }

  /** @returns whether a disruption budget let the pod go */
  async tryToEvict(name: string): Promise<boolean> {
    try {
      await this.evict(name);
      return true;
    } catch (error) {
      if (error instanceof this.library.ApiException && error.code === 429) return false;
      throw error;
    }
  }

  /** Machines that run pods of any test, and the zone of each. */
  async machines(): Promise<{ readonly name: string; readonly zone: string | undefined }[]> {
    const items = (await this.core.listNode()).items.filter(isForAll);
    return items.map(({ metadata }) => ({ name: metadata?.name ?? "", zone: metadata?.labels?.[ZONE] }));
  }

  async cordon(machine: string, isCordoned: boolean): Promise<void> {
    await this.core.patchNode({ name: machine, body: [{ op: "add", path: "/spec/unschedulable", value: isCordoned }] });
  }

  /** @throws Error with the last of what was missing when the time is up */
  async until(seconds: number, missing: () => Promise<string | undefined>): Promise<void> {
    let last: string | undefined;
    const isComplete = async (): Promise<boolean> => (last = await missing()) === undefined;
    if (await holdsInTime(isComplete, { timeoutMs: seconds * 1000, intervalMs: POLL_MS })) return;
    throw new Error(`after ${seconds} s: ${last ?? ""}${await this.#events()}`);
  }

  async zones(): Promise<string[]> {
    const { items } = await this.core.listNode();
    const zones = items
      .filter((machine) => isForAll(machine) && machine.spec?.unschedulable !== true)
      .flatMap(({ metadata }) => metadata?.labels?.[ZONE] ?? []);
    return [...new Set(zones)].sort();
  }

  async zonesOf(pods: readonly ClientNode.V1Pod[]): Promise<string[]> {
    const { items } = await this.core.listNode();
    const byName = new Map(items.map(({ metadata }) => [metadata?.name, metadata?.labels?.[ZONE] ?? ""]));
    return pods.map(({ spec }) => byName.get(spec?.nodeName) ?? "");
  }

  async delete(object: KubernetesObject): Promise<void> {
    const api = this.library.KubernetesObjectApi.makeApiClient(this.config);
    await api.delete(object, undefined, undefined, undefined, undefined, "Foreground");
    const gone = async (): Promise<boolean> => {
      try {
        await api.read({
          apiVersion: object.apiVersion,
          kind: object.kind,
          metadata: { name: object.metadata.name, namespace: this.namespace },
        });
        return false;
      } catch (error) {
        if (error instanceof this.library.ApiException && error.code === 404) return true;
        throw error;
      }
    };
    await this.until(120, async () =>
      (await gone()) ? undefined : `${object.kind} ${object.metadata.name} is still there`,
    );
  }

  untilReady(labels: Readonly<Record<string, string>>, count: number, seconds: number): Promise<void> {
    return this.until(seconds, async () => {
      const pods = await this.pods(labels);
      const ready = pods.filter(isReady).length;
      return pods.length === count && ready === count
        ? undefined
        : `${ready} of ${count} pods are ready: ${pods.map((pod) => `${pod.metadata?.name ?? ""} ${pod.status?.phase ?? ""}`).join(", ")}`;
    });
  }

  async run(pod: string, container: string, script: string): Promise<string> {
    const output = new PassThrough();
    const printed = text(output);
    const status = await new Promise<ClientNode.V1Status>((resolve, reject) => {
      new this.library.Exec(this.config)
        .exec(this.namespace, pod, container, ["sh", "-c", script], output, output, Readable.from([]), false, resolve)
        .catch(reject);
    });
    output.end();
    const said = await printed;
    if (status.status !== "Success") throw new Error(`${pod}: ${status.message ?? "failed"}: ${said}`);
    return said;
  }

  async exists(): Promise<boolean> {
    const fieldSelector = `metadata.name=${this.namespace}`;
    return (await this.core.listNamespace({ fieldSelector })).items.length > 0;
  }

  async close(): Promise<void> {
    const { namespace } = this;
    // Pods first: a namespace that still has some when it is deleted is looked at again only after their longest grace.
    const { apps } = this;
    await apps.deleteCollectionNamespacedStatefulSet({ namespace });
    await apps.deleteCollectionNamespacedDeployment({ namespace });
    await this.core.deleteCollectionNamespacedPod({ namespace });
    await this.until(120, async () => {
      const { items } = await this.core.listNamespacedPod({ namespace });
      return items.length === 0 ? undefined : `${items.length} pods are still there`;
    });
    await this.core.deleteNamespace({ name: namespace });
    await this.until(120, async () => {
      const { items } = await this.core.listNamespace({ fieldSelector: `metadata.name=${namespace}` });
      return items.length === 0 ? undefined : `namespace ${namespace} is still there`;
    });
  }

  async #events(): Promise<string> {
    const { items } = await this.core.listNamespacedEvent({ namespace: this.namespace });
    const warnings = items
      .filter(({ type }) => type === "Warning")
      .slice(-8)
      .map(({ involvedObject, message }) => `\n  ${involvedObject.name ?? ""}: ${message ?? ""}`);
    return warnings.join("");
  }
}

const isForAll = ({ spec }: ClientNode.V1Node): boolean =>
  (spec?.taints ?? []).every(({ key }) => !key.startsWith("valkey-test/"));

export function isReady(pod: ClientNode.V1Pod): boolean {
  return (
    pod.metadata?.deletionTimestamp === undefined &&
    (pod.status?.conditions ?? []).some(({ type, status }) => type === "Ready" && status === "True")
  );
}

export function isStaying({ metadata }: ClientNode.V1Pod): boolean {
  return metadata?.deletionTimestamp === undefined;
}
