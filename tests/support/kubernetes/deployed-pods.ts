/** A formed deployment of pods in a namespace of its own, as the components make them, and faults in it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { CoreV1Api } from "@kubernetes/client-node";
import { compact } from "../../../lib/compact";
import { messageOf } from "../../../lib/errors";
import { SERVER_CONTAINER } from "../../../components/kubernetes/layout";
import type { Tls } from "../../../components/kubernetes/arguments";
import type { DeploymentKind } from "../../../components/kubernetes/deployment-context";
import { proxyLabels } from "../../../components/kubernetes/names";
import { PROXY_COUNT } from "../../../components/kubernetes/pods/sidecar-resources";
import { podReference } from "../../../components/kubernetes/deployment/reference";
import { ClusterServers } from "../../../components/kubernetes/servers/cluster-servers";
import { ReplicationServers } from "../../../components/kubernetes/servers/replication-servers";
import { type PodInjectorOptions, PodFaultInjector } from "../../../faults/injectors/pod-injector";
import type { FaultSubject } from "../../../faults/scenarios/scenario-run";
import type { PodDeployment } from "../../../platforms/kubernetes/deployment";
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient, openPodDeployment } from "../../../platforms/deployment-reference";
import { formatLabelSelector } from "../../../platforms/kubernetes/pods/running-pods";
import type { Connection } from "../../../valkey/connection";
import { withConnections } from "../../../valkey/connections";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { nodeCount } from "../../../valkey/topology/placement";
import { type Verification, verifyUntilPass } from "../../../valkey/verification/verify";
import { never } from "../valkey/real";
import { plainServers } from "./server-args";
import { type KubernetesObject, renderObjects } from "./kubernetes-objects";
import { isReady, KUBECONFIG, ThrowAway } from "./throw-away";

export interface DeployedPodsOptions {
  readonly settings: ServerSettings;
  /** Whether data is gone with its pod. @default false */
  readonly ephemeral?: boolean;
  readonly resources?: typeof plainServers.resources;
  readonly tls?: Tls | undefined;
  readonly change?: ((object: KubernetesObject) => KubernetesObject) | undefined;
}

export type PodsKind = Omit<DeploymentKind, "engine">;

export const podLabels = (name: string): Readonly<Record<string, string>> => ({
  "app.kubernetes.io/name": "valkey",
  "app.kubernetes.io/instance": name,
});

export type NodesUse<T> = (at: (name: string | undefined) => Connection, all: readonly Connection[]) => Promise<T>;

export const withNamedNodes = <T>(deployment: Deployment, use: NodesUse<T>): Promise<T> =>
  withConnections(deployment, (connections) => {
    const at = (name: string | undefined): Connection => {
      const found = [...connections].find(([node]) => node.name === name);
      if (found === undefined) throw new Error(`there is no ${name ?? "such node"}`);
      return found[1];
    };
    return use(at, [...connections.values()]);
  });

export class DeployedPods {
  readonly #injectors: PodFaultInjector[] = [];

  private constructor(
    readonly here: ThrowAway,
    readonly target: KubernetesReference,
    readonly password: string,
    readonly deployment: PodDeployment,
    private readonly kind: PodsKind,
    private readonly injectorOptions: PodInjectorOptions,
  ) {}

  /**
   * Starts and forms a deployment over three zones.
   * @param where a namespace that has what the pods need, which the deployment then closes. @default a fresh one
   */
  static async open(
    name: string,
    kind: PodsKind,
    { settings, ephemeral, resources = plainServers.resources, tls, change }: DeployedPodsOptions,
    where?: ThrowAway,
  ): Promise<DeployedPods> {
    const here = where ?? (await ThrowAway.open());
    const { namespace } = here;
    const { shape, sentinel } = kind;
    const password = "known-to-all-of-them";
    try {
      const zones = (await here.zones()).slice(0, 3);
      const args = {
        ...{ ...plainServers, namespace, imagePullPolicy: "IfNotPresent" as const, password, settings, tls },
        resources,
        storage: { ...plainServers.storage, ...(ephemeral === true && { ephemeral }) },
        placement: { zones, hostAntiAffinity: "preferred" as const },
      };
      const objects = await renderObjects(() => {
        if (kind.mode === "cluster") new ClusterServers(name, { ...args, shape });
        else new ReplicationServers(name, { ...args, replicas: shape.replicasPerPrimary, sentinel });
      });
      await here.apply(change === undefined ? objects : objects.map(change));
      await here.untilReady(podLabels(name), nodeCount(shape), 180);
      if (sentinel !== undefined) await here.untilReady(proxyLabels(name), PROXY_COUNT, 60);
      const location = { namespace, zones, settings, tls };
      const target = { ...podReference(name, kind, location), kubeconfig: KUBECONFIG };
      const kubernetes = await openKubernetesClient(target);
      const deployment = await openPodDeployment(kubernetes, target, password);
      // Servers in replication mode find their primary by themselves.
      if (kind.mode === "cluster") await form(deployment, shape);
      const options = { kubernetes, container: SERVER_CONTAINER, networkPolicy: name, signal: never };
      return new DeployedPods(here, target, password, deployment, kind, options);
    } catch (error) {
      await here.close();
      throw error;
    }
  }

  async subject(Injector = PodFaultInjector): Promise<FaultSubject & { readonly injector: PodFaultInjector }> {
    const initialPrimaries = await this.primaries();
    const injector = new Injector(this.deployment, this.injectorOptions);
    this.#injectors.push(injector);
    return {
      injector,
      shape: this.target.shape,
      hasAutomaticFailover: this.kind.mode === "cluster" || this.kind.sentinel !== undefined,
      initialPrimaries,
    };
  }

  /** The verification of a deployment that passes it after a while. */
  async verified(): Promise<Verification> {
    return verifyUntilPass(await openDeployment(this.target, this.password), { settlingMs: 30_000 });
  }

  async primaries(): Promise<string[]> {
    return compact((await this.verified()).verdict.shards.map(({ primary }) => primary));
  }

  withNodes<T>(use: NodesUse<T>): Promise<T> {
    return withNamedNodes(this.deployment, use);
  }

  async flush(): Promise<void> {
    await withConnections(this.deployment, async (connections) => {
      const isReplica = (error: unknown): boolean => messageOf(error).startsWith("READONLY");
      await Promise.all(
        [...connections.values()].map((each) =>
          each.flushall().catch((error: unknown) => {
            if (!isReplica(error)) throw error;
          }),
        ),
      );
    });
  }

  /** Has pods made again, replicas all at once, so that their containers count as never restarted. */
  async renew(names: readonly string[]): Promise<void> {
    const primaries = await this.primaries();
    const replicas = names.filter((name) => !primaries.includes(name));
    if (replicas.length > 0) await this.#replace(replicas);
    // Each hands over in order.
    for (const name of names) if (!replicas.includes(name)) await this.#replace([name]);
    // Sentinels report a pod that is new as down after that time.
    await sleep(this.kind.sentinel === undefined ? 0 : this.kind.sentinel.downAfterMs + 1000);
    await verifyUntilPass(await openDeployment(this.target, this.password), { settlingMs: 60_000 });
  }

  async #replace(names: readonly string[]): Promise<void> {
    const { namespace, core } = this.here;
    const former = await Promise.all(
      names.map(async (name) => (await core.readNamespacedPod({ namespace, name })).metadata?.uid),
    );
    await Promise.all(names.map((name) => core.deleteNamespacedPod({ namespace, name })));
    await this.here.until(120, async () => {
      const pods = await this.here.pods(podLabels(this.target.name));
      const isNew = pods.every(({ metadata }) => !former.includes(metadata?.uid)) && pods.every(isReady);
      return isNew && pods.length === nodeCount(this.kind.shape) ? undefined : `${names.join(", ")}: not ready again`;
    });
  }

  async close(): Promise<void> {
    for (const injector of this.#injectors) injector.close();
    await this.here.close();
  }
}

/** Ends the server's process alone, as the kernel does when it is short of memory; its kubelet starts the container again. */
export class ProcessCrashInjector extends PodFaultInjector {
  override readonly kill: PodFaultInjector["kill"] = (names) => this.crash(names);

  protected async crash(names: readonly string[]): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        const node = this.nodes().find((each) => each.name === name);
        if (node === undefined) throw new Error(`there is no pod ${name}`);
        const connection = await this.dial(node.endpoint, 5_000);
        // The server ends without a reply, and without saving.
        await connection.call("SHUTDOWN", "NOSAVE", "NOW", "FORCE").catch(() => undefined);
        connection.disconnect();
      }),
    );
  }
}

export class LostSentinelsInjector extends ProcessCrashInjector {
  override readonly kill: PodFaultInjector["kill"] = async (names) => {
    await deleteSentinels(this.options.kubernetes.core, this.deployment);
    await this.crash(names);
  };
}

/** Deletes the pods of all Sentinels without grace; their StatefulSet makes them again, without their memory. */
export async function deleteSentinels(
  core: CoreV1Api,
  { namespace, name }: Pick<PodDeployment, "namespace" | "name">,
): Promise<void> {
  const labelSelector = formatLabelSelector({ ...podLabels(name), "app.kubernetes.io/name": "valkey-sentinel" });
  await core.deleteCollectionNamespacedPod({ namespace, labelSelector, gracePeriodSeconds: 0 });
}
