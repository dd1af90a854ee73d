/** A deployment as plain data: enough to reach it again, later and from another process. The password is kept apart. */
import { connect } from "../valkey/connection";
import type { Access, DeploymentNode, Mode } from "../valkey/node";
import type { Deployment } from "../valkey/deployment";
import { KubernetesClient } from "./kubernetes/client";
import type { KubernetesDeployment } from "./kubernetes/deployment";
import { awaitKubernetesDeployment } from "./kubernetes/deployment";
import type { PodWaitOptions } from "./kubernetes/pods";
import type { Sentinels, SentinelSettings } from "../valkey/sentinel/plan";
import type { Shape } from "../valkey/topology/placement";

interface TargetBase {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly zones: readonly string[];
  /** Directive to the value it must have on every node. */
  readonly directives: Readonly<Record<string, string>>;
}

/** Servers at addresses that this machine reaches by itself. */
export interface EndpointReference extends TargetBase {
  readonly platform: "endpoints";
  readonly nodes: readonly DeploymentNode[];
  /** Who has a replica take over, in replication mode. @default nobody does */
  readonly sentinels?: Sentinels | undefined;
}

/** The pods of a StatefulSet, reached by port-forwards. */
export interface KubernetesReference extends TargetBase {
  readonly platform: "kubernetes";
  /** Path. @default KUBECONFIG, else ~/.kube/config */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace: string;
  readonly statefulSet: string;
  /** The one Valkey runs in. */
  readonly container: string;
  readonly port: number;
  readonly tls: boolean;
  /** Who has a replica take over, in replication mode. @default nobody does */
  readonly sentinel?:
    { readonly statefulSet: string; readonly port: number; readonly settings: SentinelSettings } | undefined;
  /** `HOST:PORT` for clients in the Kubernetes cluster. */
  readonly service: string;
}

export type DeploymentReference = EndpointReference | KubernetesReference;

/**
 * The deployment, its nodes known to be there.
 * @param password undefined where the servers want none
 * @param waiting for pods that do not run yet
 * @throws BadInput, Failure when pods do not run or cannot be reached
 */
export async function openDeployment(
  target: DeploymentReference,
  password: string | undefined,
  waiting: PodWaitOptions = {},
): Promise<Deployment> {
  if (target.platform === "kubernetes")
    return openKubernetesDeployment(await openKubernetesClient(target), target, password, waiting);
  const { name, mode, shape, zones, nodes, sentinels } = target;
  const access: Access = { password };
  return {
    name,
    mode,
    shape,
    zones,
    directives: directivesOf(target),
    nodes,
    access,
    ...(sentinels === undefined ? {} : { sentinels }),
    connect: (node) => connect(node.name, node.endpoint, access),
  };
}

export function openKubernetesClient({ kubeconfig, context }: KubernetesReference): Promise<KubernetesClient> {
  return KubernetesClient.open({ kubeconfig, context });
}

/** The same for pods, with what only they have. */
export function openKubernetesDeployment(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
  password: string | undefined,
  waiting: PodWaitOptions = {},
): Promise<KubernetesDeployment> {
  const { name, mode, shape, zones, namespace, statefulSet, container, port, tls, sentinel } = target;
  // The port-forward ends at the pod itself, whose certificate is made out to names inside the cluster.
  const access: Access = { password, ...(tls ? { tls: { insecure: true } } : {}) };
  const plan = {
    name,
    mode,
    shape,
    namespace,
    pods: { statefulSet },
    container,
    port,
    zones,
    directives: directivesOf(target),
    access,
    ...(sentinel === undefined
      ? {}
      : {
          sentinels: { pods: { statefulSet: sentinel.statefulSet }, port: sentinel.port, settings: sentinel.settings },
        }),
  };
  return awaitKubernetesDeployment(kubernetes, plan, waiting);
}

function directivesOf({ directives }: TargetBase): Map<string, string> {
  return new Map(Object.entries(directives));
}
