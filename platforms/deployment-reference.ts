/**
 * A reference to a deployment: plain data by which a later process can connect to it. Does not contain the password.
 */
import { connect } from "../valkey/connection";
import type { NodeAccess, DeploymentNode, Mode, TlsFiles } from "../valkey/node";
import type { Deployment } from "../valkey/deployment";
import type { PrimaryLead } from "./kubernetes/access/primary-lead";
import { readTlsSecret, pemOf } from "./kubernetes/access/tls-secret";
import type { ReportProgress } from "../lib/progress";
import { KubernetesClient } from "./kubernetes/api/client";
import type { PodDeployment, PodDeploymentPlan } from "./kubernetes/deployment";
import { awaitPodDeployment, awaitRunningPart, runningPartOf } from "./kubernetes/deployment";
import type { PodWaitOptions } from "./kubernetes/pods/pods";
import { runningServers } from "./kubernetes/pods/pods";
import { findStatefulSet } from "./kubernetes/volumes/statefulset-volumes";
import type { Sentinels, SentinelSettings } from "../valkey/sentinel-plan";
import type { Shape } from "../valkey/topology/placement";
import type { ClientWay } from "../valkey/client-ways";
import type { ExpectedTuning } from "../valkey/machine-settings";

interface ReferenceBase {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly zones: readonly string[];
  /** Directive to the value it must have on every node. */
  readonly directives: Readonly<Record<string, string>>;
}

/**
 * Servers at addresses that this machine can reach.
 * @opaque
 */
export interface EndpointReference extends ReferenceBase {
  readonly platform: "endpoints";
  readonly nodes: readonly DeploymentNode[];
  /** Sentinels that promote a replica, in replication mode. @default no Sentinels */
  readonly sentinels?: Sentinels | undefined;
}

/**
 * The pods of a StatefulSet, which are reached by port-forwards.
 * @opaque
 */
export interface KubernetesReference extends ReferenceBase {
  readonly platform: "kubernetes";
  /** The path of the kubeconfig. @default KUBECONFIG, else ~/.kube/config */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace: string;
  readonly statefulSet: string;
  /** The name of the container that runs Valkey. */
  readonly container: string;
  readonly port: number;
  /** The servers' TLS: the Secret whose `ca.crt` is the authority of their certificates. @default no TLS */
  readonly tls?: { readonly secretName: string } | undefined;
  /** Domain at the end of cluster-wide DNS names. @default "cluster.local" */
  readonly clusterDomain?: string | undefined;
  /** Rules of all users but `default`, by name. @default users are not looked at */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** Kernel settings that the platform promises of the machines. @default nothing */
  readonly tuning?: ExpectedTuning | undefined;
  /** Sentinels that promote a replica, in replication mode. @default no Sentinels */
  readonly sentinel?:
    { readonly statefulSet: string; readonly port: number; readonly settings: SentinelSettings } | undefined;
  /** `HOST:PORT` for clients in the Kubernetes cluster. */
  readonly service: string;
  /** The Services at which clients connect, and what each leads to. @default Services are not looked at */
  readonly ways?: readonly ClientWay[] | undefined;
  /** Objects that lead to the primary, where it can be another pod than the first. @default nothing */
  readonly lead?: PrimaryLead | undefined;
}

/** A deployment somewhere. */
export type DeploymentReference = EndpointReference | KubernetesReference;

/**
 * Opens a deployment; on Kubernetes, waits until its pods run and answer.
 * @param password undefined where the servers have none
 * @param waiting how long pods may take
 * @param formerPassword tried where a server refuses the password
 * @throws BadInput when the kubeconfig or the StatefulSet does not exist
 * @throws Failure when pods do not run or cannot be reached
 */
export async function openDeployment(
  target: DeploymentReference,
  password: string | undefined,
  waiting: PodWaitOptions = {},
  formerPassword?: string,
): Promise<Deployment> {
  if (target.platform === "kubernetes")
    return openPodDeployment(await openKubernetesClient(target), target, password, waiting, formerPassword);
  const { name, mode, shape, zones, nodes, sentinels } = target;
  const access: NodeAccess = { password, formerPassword };
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

/** The API server of a deployment. @throws as `KubernetesClient.open` */
export function openKubernetesClient({ kubeconfig, context }: KubernetesReference): Promise<KubernetesClient> {
  return KubernetesClient.open({ kubeconfig, context });
}

/** As `openDeployment`, with the facts that only pods have. */
export async function openPodDeployment(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
  password: string | undefined,
  waiting: PodWaitOptions = {},
  formerPassword?: string,
): Promise<PodDeployment> {
  const plan = await planOf(kubernetes, target, password, waiting.report, formerPassword);
  return awaitPodDeployment(kubernetes, plan, waiting);
}

/** The pods that run at this moment, without waiting for the others. @throws as `openDeployment` */
export async function openRunningPart(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
  password: string | undefined,
): Promise<PodDeployment> {
  return runningPartOf(kubernetes, await planOf(kubernetes, target, password));
}

/**
 * The servers that run, when they answer, without Sentinels: all of them, or those that run when it is known why others do not.
 * @returns undefined when no server runs
 * @throws as `openDeployment`, but for pods that do not run
 */
export async function openRunningServers(
  target: DeploymentReference,
  password: string | undefined,
  waiting: PodWaitOptions = {},
): Promise<{ readonly deployment: Deployment; readonly why: string | undefined } | undefined> {
  if (target.platform !== "kubernetes") {
    return { deployment: await openDeployment(target, password, waiting), why: undefined };
  }
  const kubernetes = await openKubernetesClient(target);
  // Where an update failed before it made the servers, there is no StatefulSet.
  const isThere = (await findStatefulSet(kubernetes, target)) !== undefined;
  if (!isThere && (await runningServers(kubernetes, target)).length === 0) return undefined;
  const part = await awaitRunningPart(kubernetes, await planOf(kubernetes, target, password, waiting.report), waiting);
  return part.deployment.nodes.length === 0 ? undefined : part;
}

async function planOf(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
  password: string | undefined,
  report?: ReportProgress,
  formerPassword?: string,
): Promise<PodDeploymentPlan> {
  const { name, mode, shape, zones, namespace, statefulSet, container, port, users, tuning, sentinel } = target;
  const { tls, clusterDomain, ways } = target;
  return {
    name,
    mode,
    shape,
    namespace,
    pods: { statefulSet },
    container,
    port,
    zones,
    directives: directivesOf(target),
    users,
    tuning,
    access: {
      password,
      formerPassword,
      ...(tls && { tls: await serversTls(kubernetes, target, tls.secretName, report) }),
    },
    tlsSecret: tls?.secretName,
    ways,
    clusterDomain,
    ...(sentinel === undefined
      ? {}
      : {
          sentinels: { pods: { statefulSet: sentinel.statefulSet }, port: sentinel.port, settings: sentinel.settings },
        }),
  };
}

/** Where the Secret is gone or may not be read, there is nothing that certificates could be held against. */
async function serversTls(
  kubernetes: KubernetesClient,
  { name, namespace }: KubernetesReference,
  secretName: string,
  report: ReportProgress | undefined,
): Promise<TlsFiles> {
  const look = await readTlsSecret(kubernetes, namespace, secretName);
  const ca = look.state === "read" ? pemOf(look.data, "ca.crt") : "";
  if (ca !== "") return { ca, insecure: false };
  const why = { absent: "does not exist", unreadable: "may not be read", read: "has no ca.crt" }[look.state];
  report?.(`certificates of ${name} are not checked: Secret ${secretName} of namespace ${namespace} ${why}`);
  return { insecure: true };
}

function directivesOf({ directives }: ReferenceBase): Map<string, string> {
  return new Map(Object.entries(directives));
}
