/** Breaking a deployment of pods, by way of the API server: pods are deleted, and their StatefulSet makes them anew. */
import { setTimeout as sleep } from "node:timers/promises";
import type { V1Pod } from "@kubernetes/client-node";
import type { Connection } from "../../valkey/connection";
import { connect } from "../../valkey/connection";
import type { DeploymentNode, Endpoint } from "../../valkey/node";
import { formatEndpoint } from "../../valkey/node";
import { Failure } from "../../lib/errors";
import type { KubernetesClient } from "../../platforms/kubernetes/client";
import type { KubernetesDeployment } from "../../platforms/kubernetes/deployment";
import { resourceName, isPodRunning } from "../../platforms/kubernetes/pod-diagnostics";
import { formatLabelSelector, listPods } from "../../platforms/kubernetes/pods";
import { openPortForward } from "../../platforms/kubernetes/port-forward";
import type { FaultInjector } from "./fault-injector";
import { attemptAll } from "./fault-injector";
import { unmetPodPrecondition } from "./preconditions";
import { cutPods, healPodCut, showsCut } from "./pod-cut";
import { until } from "../scenarios/waiting";

/** Between two looks at the pods, milliseconds. */
const LOOK_MS = 250;
/** For a pod to be gone, or to be there again. */
const PATIENCE_MS = 240_000;
/** For a pod that runs to answer. */
const ANSWER_MS = 2000;

export interface PodInjectorOptions {
  readonly kubernetes: KubernetesClient;
  readonly port: number;
  /** The one Valkey runs in. */
  readonly container: string;
  /** The deployment's NetworkPolicy. */
  readonly networkPolicy: string;
  readonly signal: AbortSignal;
}

export class PodFaultInjector implements FaultInjector {
  readonly supportsHandOver: boolean;
  /** Their probes introduce pods to each other again. */
  readonly rediscoversPeers = true;
  readonly #zoneOf: ReadonlyMap<string, string | undefined>;
  /** Directives of the ConfigMap, which pods have that are made anew. */
  readonly #configured: ReadonlyMap<string, string>;
  readonly #killed = new Map<string, string>();
  #nodes: readonly DeploymentNode[];
  #uids = new Map<string, string>();
  /** Pods that are cut off, or may be: until the cut is healed for certain. */
  #cut: readonly string[] | undefined;
  readonly #closed = new AbortController();

  constructor(
    public deployment: KubernetesDeployment,
    private readonly ground: PodInjectorOptions,
  ) {
    this.#nodes = deployment.nodes;
    this.#configured = deployment.directives;
    this.#zoneOf = new Map(deployment.nodes.map(({ name, zone }) => [name, zone]));
    // The chart has pod 0 lead for ever: what is handed over would be led by two when pod 0 comes back.
    this.supportsHandOver = deployment.mode === "cluster";
    void this.#watch();
  }

  readonly nodes = (): readonly DeploymentNode[] => this.#nodes;

  readonly unmetPrecondition = unmetPodPrecondition;

  readonly dial = async (endpoint: Endpoint, timeoutMs: number): Promise<Connection> => {
    const node = this.#nodes.find(({ endpoint: { host } }) => host === endpoint.host);
    if (node === undefined) throw new Failure(`no pod is at ${formatEndpoint(endpoint)} any more`);
    const { kubernetes, port } = this.ground;
    const { namespace, access } = this.deployment;
    return connect(node.name, endpoint, access, timeoutMs, () =>
      openPortForward(kubernetes, { namespace, pod: node.name, port }),
    );
  };

  /**
   * Without grace: the API server forgets them at once. Their machine still gives them a second or two, in which a primary hands its
   * slots over in good order; so the servers are told to end there and then, as SIGKILL would: nothing saved, nobody waited for.
   */
  readonly kill = async (nodes: readonly string[]): Promise<void> => {
    const doomed = await Promise.all(nodes.map(async (name) => ({ name, connection: await this.#reach(name) })));
    try {
      await Promise.all(
        doomed.map(async ({ name, connection }) => {
          await this.#delete(name, 0);
          // The connection ends with the server, without a reply.
          await connection?.call("SHUTDOWN", "NOSAVE", "NOW", "FORCE").catch(() => undefined);
        }),
      );
    } finally {
      for (const { connection } of doomed) connection?.disconnect();
    }
  };

  readonly terminate = async (node: string): Promise<void> => {
    await this.#delete(node, undefined);
    await this.#until(`${node} has ended`, (pods) =>
      pods.every((pod) => resourceName(pod) !== node || pod.metadata?.uid !== this.#killed.get(node)),
    );
  };

  /** Their StatefulSet has begun to already; this waits. */
  readonly start: FaultInjector["start"] = async (struck) => {
    // Sentinels that were struck with their zone come back by themselves, too, and verification waits for them.
    const names = struck.filter((name) => this.#nodes.some((node) => node.name === name));
    await this.#until(`${names.join(", ")} run again`, (pods) =>
      names.every((name) =>
        pods.some(
          (pod) =>
            resourceName(pod) === name &&
            pod.metadata?.uid !== this.#killed.get(name) &&
            isPodRunning(pod, this.ground.container) &&
            (pod.status?.podIP ?? "") !== "",
        ),
      ),
    );
    await this.#look();
    await Promise.all(names.map((name) => this.#answers(name)));
    await Promise.all(names.map((name) => this.#tell(name)));
    this.deployment = { ...this.deployment, nodes: this.#nodes };
  };

  readonly cut = async (nodes: readonly string[]): Promise<void> => {
    const { kubernetes, networkPolicy } = this.ground;
    await this.#heal();
    this.#cut = nodes;
    await cutPods(kubernetes, {
      namespace: this.deployment.namespace,
      policy: networkPolicy,
      labels: this.deployment.labels,
      pods: nodes,
    });
  };

  /** @throws Failure when the cut cannot be healed; when nobody had noticed that anything was cut: the figures of such a scenario would be those of nothing */
  readonly healCut = async (): Promise<void> => {
    const cut = this.#cut;
    if (cut === undefined) return;
    const noticed = await this.#isCut(cut);
    await this.#heal();
    if (noticed === undefined)
      throw new Failure("whether the cut had an effect is not known: no node that could tell answered");
    if (!noticed)
      throw new Failure(
        "the cut had no effect: this Kubernetes does not enforce NetworkPolicies, or leaves connections alone that are there already",
      );
  };

  readonly freeze = impossible;
  readonly thaw = impossible;
  readonly fillDisk = impossible;
  readonly freeDisk = impossible;
  readonly resize = impossible;

  /** Pods that are made anew have their ConfigMap's directives; `start` puts others in force on them again. */
  readonly setStartupDirectives = (directives: ReadonlyMap<string, string>): void => {
    this.deployment = { ...this.deployment, directives };
  };

  readonly restore = (): Promise<readonly string[]> => attemptAll(() => this.#heal());

  /** Takes back what a scenario left that was killed half way. */
  async healLeftoverCut(): Promise<void> {
    await this.#healCut(this.#nodes.map(({ name }) => name));
  }

  /** Watches no more. */
  close(): void {
    this.#closed.abort();
  }

  async #healCut(pods: readonly string[]): Promise<void> {
    const { kubernetes, networkPolicy } = this.ground;
    await healPodCut(kubernetes, { namespace: this.deployment.namespace, policy: networkPolicy, pods });
  }

  async #heal(): Promise<void> {
    if (this.#cut === undefined) return;
    await this.#healCut(this.#cut);
    this.#cut = undefined;
  }

  /** By the word of a node that is cut off, or of one that has lost its primary. @returns undefined where none answered */
  async #isCut(pods: readonly string[]): Promise<boolean | undefined> {
    const { mode } = this.deployment;
    const asked = this.#nodes.filter(({ name }) => mode === "replication" || pods.includes(name));
    const views = await Promise.all(
      asked.map(async ({ endpoint }) => {
        try {
          const connection = await this.dial(endpoint, ANSWER_MS);
          try {
            if (mode === "cluster") return showsCut(String(await connection.cluster("NODES")));
            return (await connection.info("replication")).includes("master_link_status:down");
          } finally {
            connection.disconnect();
          }
        } catch {
          return undefined;
        }
      }),
    );
    return views.every((view) => view === undefined) ? undefined : views.includes(true);
  }

  /** @returns undefined for a Sentinel, and for a server that does not answer, which has nothing to hand over */
  async #reach(name: string): Promise<Connection | undefined> {
    const node = this.#nodes.find((each) => each.name === name);
    return node === undefined ? undefined : this.dial(node.endpoint, ANSWER_MS).catch(() => undefined);
  }

  async #delete(name: string, gracePeriodSeconds: number | undefined): Promise<void> {
    const { kubernetes } = this.ground;
    const uid =
      this.#uids.get(name) ?? (await this.#pods()).find((pod) => resourceName(pod) === name)?.metadata?.uid ?? "";
    this.#killed.set(name, uid);
    await kubernetes.find(
      `deleting pod ${name}`,
      kubernetes.core.deleteNamespacedPod({
        namespace: this.deployment.namespace,
        name,
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      }),
    );
  }

  #pods(): Promise<V1Pod[]> {
    return listPods(this.ground.kubernetes, this.deployment.namespace, formatLabelSelector(this.deployment.labels));
  }

  async #until(what: string, holds: (pods: readonly V1Pod[]) => boolean): Promise<void> {
    await until(what, async () => holds(await this.#pods()), {
      signal: this.ground.signal,
      patienceMs: PATIENCE_MS,
      pollMs: LOOK_MS,
    });
  }

  async #answers(name: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const node = this.#nodes.find((each) => each.name === name);
      try {
        if (node === undefined) throw new Failure(`there is no pod ${name}`);
        (await this.dial(node.endpoint, ANSWER_MS)).disconnect();
        return;
      } catch (error) {
        this.ground.signal.throwIfAborted();
        if (performance.now() > deadline) throw error;
        await sleep(LOOK_MS);
        await this.#look();
      }
    }
  }

  /** Puts the directives in force that its ConfigMap has not. */
  async #tell(name: string): Promise<void> {
    const node = this.#nodes.find((each) => each.name === name);
    const words = [...this.deployment.directives]
      .filter(([directive, value]) => this.#configured.get(directive) !== value)
      .flat();
    if (node === undefined || words.length === 0) return;
    const connection = await this.dial(node.endpoint, ANSWER_MS);
    try {
      await connection.call("CONFIG", "SET", ...words);
    } finally {
      connection.disconnect();
    }
  }

  /** Where pods are by now; one that has no address yet keeps the one it had. */
  async #look(): Promise<void> {
    const pods = await this.#pods();
    this.#uids = new Map(pods.map((pod) => [resourceName(pod), pod.metadata?.uid ?? ""]));
    const hostOf = new Map(
      pods.flatMap((pod) => (pod.status?.podIP === undefined ? [] : [[resourceName(pod), pod.status.podIP] as const])),
    );
    this.#nodes = this.#nodes.map((node) => ({
      ...node,
      zone: this.#zoneOf.get(node.name),
      endpoint: { ...node.endpoint, host: hostOf.get(node.name) ?? node.endpoint.host },
    }));
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      // An API server that is slow for a moment is asked again in the next.
      await this.#look().catch(() => undefined);
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}

function impossible(): Promise<void> {
  return Promise.reject(new Failure("this cannot be done to pods"));
}
