import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import { Failure, messageOf } from "../../lib/errors";
import type { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { PodDeployment } from "../../platforms/kubernetes/deployment";
import type { Connection } from "../../valkey/connection";
import { type DeploymentNode, type Endpoint, formatEndpoint } from "../../valkey/node";
import { holdsInTime, awaitCondition } from "../../lib/polling";
import { type FaultInjector, attemptAll } from "./fault-injector";
import { type PodCut, cutPods, healPodCut, showsCut } from "./pod-cut";
import { withConnection } from "../../valkey/connections";
import { unmetPodPrecondition } from "./preconditions";
import { isPodRunning, resourceName } from "../../platforms/kubernetes/api/pod-diagnostics";
import { formatLabelSelector, listPods } from "../../platforms/kubernetes/pods/running-pods";

const CONNECT_TIMEOUT_MS = 2000;
const RESTART_TIMEOUT_MS = 240_000;
const RETRY_MS = 250;

export interface PodInjectorOptions {
  readonly kubernetes: KubernetesClient;
  readonly container: string;
  readonly networkPolicy: string;
  readonly signal: AbortSignal;
}

export class PodFaultInjector implements FaultInjector {
  readonly supportsHandOver: boolean;
  /** Always true: the pods' probes make the nodes meet again. */
  readonly rediscoversPeers = true;
  /** A recreated pod starts with these directives. */
  readonly #configured: ReadonlyMap<string, string>;
  readonly #watcher: PodWatcher;
  /** Pods that are, or may be, cut off; undefined when the cut is certainly healed. */
  #cut: readonly string[] | undefined;

  constructor(
    public deployment: PodDeployment,
    protected readonly options: PodInjectorOptions,
  ) {
    this.#configured = deployment.directives;
    this.#watcher = new PodWatcher(options.kubernetes, deployment, options.signal);
    // In replication mode, the Sentinels or `up` decide which node is the primary.
    this.supportsHandOver = deployment.mode === "cluster";
  }

  readonly nodes = (): readonly DeploymentNode[] => this.#watcher.nodes;

  readonly unmetPrecondition = unmetPodPrecondition;

  readonly dial = async (endpoint: Endpoint, timeoutMs: number): Promise<Connection> => {
    const node = this.nodes().find(({ endpoint: { host } }) => host === endpoint.host);
    if (node === undefined) throw new Failure(`no pod has the address ${formatEndpoint(endpoint)} any more`);
    return this.deployment.connect(node, timeoutMs);
  };

  /**
   * Even without a grace period, the kubelet lets a server run for a second or two, in which a primary would hand its
   * slots over. So SHUTDOWN NOW ends it at once, and like SIGKILL neither saves nor waits for replicas.
   */
  readonly kill = async (nodes: readonly string[]): Promise<void> => {
    const connections = await Promise.all(nodes.map((name) => this.#connectTo(name)));
    try {
      await Promise.all(nodes.map((name, index) => this.#killOne(name, connections[index])));
    } finally {
      for (const connection of connections) connection?.disconnect();
    }
  };

  readonly terminate = async (node: string): Promise<void> => {
    await this.#watcher.delete(node, undefined);
    await this.#watcher.awaitGone(node);
  };

  /** Waits until the pods, which their StatefulSet recreates, accept connections, and sets their directives. */
  readonly start: FaultInjector["start"] = async (struck) => {
    // `struck` can contain Sentinels, which are also recreated. Verification waits for Sentinels, so this function does
    // not.
    const names = struck.filter((name) => this.nodes().some((node) => node.name === name));
    await this.#watcher.awaitRunning(names, this.options.container);
    await Promise.all(names.map((name) => this.#awaitConnection(name)));
    await Promise.all(names.map((name) => this.#setDirectives(name)));
    this.deployment = { ...this.deployment, nodes: this.nodes() };
  };

  readonly cut = async (nodes: readonly string[]): Promise<void> => {
    await this.#undoCut();
    this.#cut = nodes;
    await cutPods(this.options.kubernetes, this.#podCut(nodes));
  };

  /** @throws Failure, also if no node noticed the cut: a result would show a run without a fault */
  readonly healCut = async (): Promise<void> => {
    const cut = this.#cut;
    if (cut === undefined) return;
    const isNoticed = await this.#isCutNoticed(cut);
    await this.#undoCut();
    if (isNoticed === undefined) throw new Failure("the effect of the cut is unknown: no node of either side replied");
    if (!isNoticed)
      throw new Failure(
        "the cut had no effect: this Kubernetes cluster does not enforce NetworkPolicies, or does not apply them to open connections",
      );
  };

  readonly freeze = unsupported;
  readonly thaw = unsupported;
  readonly fillDisk = unsupported;
  readonly freeDisk = unsupported;
  readonly resize = unsupported;

  /** A recreated pod starts with those of its ConfigMap, and `start` then sets the directives that differ. */
  readonly setStartupDirectives = (directives: ReadonlyMap<string, string>): void => {
    this.deployment = { ...this.deployment, directives };
  };

  readonly restore = (): Promise<readonly string[]> => attemptAll(() => this.#undoCut());

  /** Heals a cut that a killed run left behind. */
  async healLeftoverCut(): Promise<void> {
    await healPodCut(this.options.kubernetes, this.#podCut(this.nodes().map(({ name }) => name)));
  }

  close(): void {
    this.#watcher.close();
  }

  #podCut(pods: readonly string[]): PodCut {
    const { namespace, labels } = this.deployment;
    return { namespace, policy: this.options.networkPolicy, labels, pods };
  }

  async #undoCut(): Promise<void> {
    if (this.#cut === undefined) return;
    await healPodCut(this.options.kubernetes, this.#podCut(this.#cut));
    this.#cut = undefined;
  }

  /** In a cluster, asks the nodes that are cut off; otherwise all. @returns undefined if no node replied */
  async #isCutNoticed(pods: readonly string[]): Promise<boolean | undefined> {
    const { mode } = this.deployment;
    const asked = this.nodes().filter(({ name }) => mode === "replication" || pods.includes(name));
    const views = await Promise.all(asked.map(({ endpoint }) => this.#noticesCut(endpoint).catch(() => undefined)));
    return views.every((view) => view === undefined) ? undefined : views.includes(true);
  }

  async #noticesCut(endpoint: Endpoint): Promise<boolean> {
    return withConnection(this.dial(endpoint, CONNECT_TIMEOUT_MS), async (connection) => {
      if (this.deployment.mode === "cluster") return showsCut(String(await connection.cluster("NODES")));
      return (await connection.info("replication")).includes("master_link_status:down");
    });
  }

  /** For SHUTDOWN. @returns undefined for Sentinels and silent servers, which cannot hand their slots over */
  async #connectTo(name: string): Promise<Connection | undefined> {
    const node = this.nodes().find((each) => each.name === name);
    return node === undefined ? undefined : this.dial(node.endpoint, CONNECT_TIMEOUT_MS).catch(() => undefined);
  }

  async #killOne(name: string, connection: Connection | undefined): Promise<void> {
    await this.#watcher.delete(name, 0);
    // The server ends without replying.
    await connection?.call("SHUTDOWN", "NOSAVE", "NOW", "FORCE").catch(() => undefined);
  }

  /** @throws Failure with the last error when the pod accepts no connection in time */
  async #awaitConnection(name: string): Promise<void> {
    let reason = "";
    const accepts = async (): Promise<boolean> => {
      const node = this.nodes().find((each) => each.name === name);
      try {
        if (node === undefined) throw new Failure(`there is no pod ${name}`);
        (await this.dial(node.endpoint, CONNECT_TIMEOUT_MS)).disconnect();
        return true;
      } catch (error) {
        reason = messageOf(error);
        await this.#watcher.refresh();
        return false;
      }
    };
    const polling = { signal: this.options.signal, timeoutMs: RESTART_TIMEOUT_MS, intervalMs: RETRY_MS };
    if (!(await holdsInTime(accepts, polling))) throw new Failure(`${name} accepts no connection: ${reason}`);
  }

  async #setDirectives(name: string): Promise<void> {
    const { directives } = this.deployment;
    const words = [...directives].filter(([directive, value]) => this.#configured.get(directive) !== value).flat();
    const node = this.nodes().find((each) => each.name === name);
    if (node === undefined || words.length === 0) return;
    const opening = this.dial(node.endpoint, CONNECT_TIMEOUT_MS);
    await withConnection(opening, (connection) => connection.call("CONFIG", "SET", ...words));
  }
}

function unsupported(): Promise<void> {
  return Promise.reject(new Failure("pods do not support this fault; the platform host does"));
}

const POLL_MS = 250;
/** A new pod may have to wait for a machine. */
const POD_TIMEOUT_MS = 240_000;

class PodWatcher {
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
