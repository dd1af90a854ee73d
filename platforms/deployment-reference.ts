/** A reference is plain data, without the password, that a later process needs to connect to the deployment. */
import { readFile } from "node:fs/promises";
import { connect } from "../valkey/connection";
import { reuseConnections } from "../valkey/reused-connections";
import type { NodeAccess, DeploymentNode, Mode, TlsFiles } from "../valkey/node";
import type { Deployment } from "../valkey/deployment";
import type { PrimaryLead } from "./kubernetes/access/primary-lead";
import { readTlsSecret, pemOf } from "./kubernetes/access/tls-certificate-check";
import type { ReportProgress } from "../lib/progress";
import { KubernetesClient } from "./kubernetes/api/client";
import type { PodDeployment, PodDeploymentPlan } from "./kubernetes/deployment";
import { awaitPodDeployment, awaitRunningPart, runningPartOf } from "./kubernetes/deployment";
import { type PodWaitOptions, runningServers } from "./kubernetes/pods/running-pods";
import { findStatefulSet } from "./kubernetes/volumes/statefulset-volumes";
import type { Sentinels, SentinelSettings } from "../valkey/sentinel-config";
import type { Shape } from "../valkey/topology/placement";
import type { ClientWay } from "../valkey/client-endpoints";
import type { ExpectedTuning } from "../valkey/machine-settings";

interface ReferenceBase {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly zones: readonly string[];
  /** Values of directives, by name of the directive. Every node must have these values. */
  readonly directives: Readonly<Record<string, string>>;
}

/** A reference to servers at addresses that this machine can reach. @opaque */
export interface EndpointReference extends ReferenceBase {
  readonly platform: "endpoints";
  readonly nodes: readonly DeploymentNode[];
  /** Sentinels that promote a replica, in replication mode. @default no Sentinels */
  readonly sentinels?: Sentinels | undefined;
}

/** A reference to the pods of a StatefulSet. @opaque */
export interface KubernetesReference extends ReferenceBase {
  readonly platform: "kubernetes";
  /** Path of the kubeconfig. @default KUBECONFIG, else ~/.kube/config */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace: string;
  readonly statefulSet: string;
  /** Name of the container that runs Valkey. */
  readonly container: string;
  readonly port: number;
  /**
   * Secret with the TLS files. Its `ca.crt` is the authority that signed the certificates of the servers.
   * @default no TLS
   */
  readonly tls?: { readonly secretName: string } | undefined;
  /** Domain at the end of cluster-wide DNS names. @default "cluster.local" */
  readonly clusterDomain?: string | undefined;
  /**
   * ACL rules that each user must have, by user name. The user `default` is left out.
   * @default ACL rules are not verified
   */
  readonly users?: Readonly<Record<string, string>> | undefined;
  /** Expected kernel settings of the machines. @default nothing */
  readonly tuning?: ExpectedTuning | undefined;
  /** Sentinels that promote a replica, in replication mode. @default no Sentinels */
  readonly sentinel?:
    | {
        readonly statefulSet: string;
        readonly port: number;
        readonly settings: SentinelSettings;
        /** Key of the Secret with the password of the user `admin` of Sentinels. */
        readonly secret: { readonly name: string; readonly key: string };
      }
    | undefined;
  /** `HOST:PORT` for clients in the Kubernetes cluster. */
  readonly service: string;
  /** Services to which clients connect, each with the nodes that it routes to. @default Services are not verified */
  readonly ways?: readonly ClientWay[] | undefined;
  /**
   * Services and ConfigMap by which clients and servers find the primary. They exist if a pod other than the first pod
   * can be the primary.
   * @default nothing
   */
  readonly lead?: PrimaryLead | undefined;
  /**
   * Name of the Lease that an update or the controller holds while it changes the servers.
   * @default no controller repairs the deployment
   */
  readonly lease?: string | undefined;
  /**
   * Files for a process that runs in the Kubernetes cluster. Such a process connects to the addresses of pods.
   * @default connections are port-forwards through the API server
   */
  readonly inside?: InsideAccess | undefined;
}

interface InsideAccess {
  /** Path of the certificate of the authority that signed the servers' certificates, PEM. @default no TLS */
  readonly caFile?: string | undefined;
  /** Path of the password of the user `admin` of Sentinels. @default no Sentinels */
  readonly sentinelPasswordFile?: string | undefined;
}

/** A reference to a deployment on any platform. */
export type DeploymentReference = EndpointReference | KubernetesReference;

/**
 * Opens a deployment. On Kubernetes it waits until the pods run and answer.
 * @param password password of the servers; undefined if they have none
 * @param waiting time limit within which the pods must run
 * @param formerPassword password to try if a server refuses `password`
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
  return reuseConnections({
    name,
    mode,
    shape,
    zones,
    directives: directivesOf(target),
    nodes,
    access,
    ...(sentinels === undefined ? {} : { sentinels }),
    connect: (node, timeoutMs) => connect(node.name, node.endpoint, access, timeoutMs),
  });
}

export function openKubernetesClient({ kubeconfig, context }: KubernetesReference): Promise<KubernetesClient> {
  return KubernetesClient.open({ kubeconfig, context });
}

/** Like `openDeployment`, with properties that only pods have, such as the namespace and the image. */
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

/** Without waiting for others. @param without names of pods that are left out @throws the errors of `openDeployment` */
export async function openRunningPart(
  kubernetes: KubernetesClient,
  target: KubernetesReference,
  password: string | undefined,
  without?: ReadonlySet<string>,
): Promise<PodDeployment> {
  return runningPartOf(kubernetes, await planOf(kubernetes, target, password), without);
}

/**
 * Without Sentinels. Waits until each server runs, or it is known why not, and until they answer.
 * @returns undefined when none runs
 * @throws the errors of `openDeployment`, except that for pods that do not run
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
  // An update may have failed before it created the StatefulSet.
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
  const { tls, clusterDomain, ways, inside } = target;
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
    isDirect: inside !== undefined,
    clusterDomain,
    ...(sentinel === undefined
      ? {}
      : {
          sentinels: {
            ...{ pods: { statefulSet: sentinel.statefulSet }, port: sentinel.port, settings: sentinel.settings },
            password: await sentinelPassword(kubernetes, target),
          },
        }),
  };
}

/** Sentinels always accept it: during an update, they accept a new password before the Secret has it. */
async function sentinelPassword(
  kubernetes: KubernetesClient,
  { namespace, inside, sentinel }: KubernetesReference,
): Promise<string | undefined> {
  if (inside?.sentinelPasswordFile !== undefined) return readFile(inside.sentinelPasswordFile, "utf8");
  const { name = "", key = "" } = sentinel?.secret ?? {};
  const doing = `reading Secret ${name} of namespace ${namespace}`;
  const secret = await kubernetes.find(doing, kubernetes.core.readNamespacedSecret({ namespace, name }));
  const text = secret?.data?.[key];
  return text === undefined ? undefined : Buffer.from(text, "base64").toString();
}

/** Without a readable Secret, certificates are not checked, and a message says so. */
async function serversTls(
  kubernetes: KubernetesClient,
  { name, namespace, inside }: KubernetesReference,
  secretName: string,
  report: ReportProgress | undefined,
): Promise<TlsFiles> {
  if (inside?.caFile !== undefined) return { ca: await readFile(inside.caFile, "utf8"), insecure: false };
  const look = await readTlsSecret(kubernetes, namespace, secretName);
  const ca = look.state === "read" ? pemOf(look.data, "ca.crt") : "";
  if (ca !== "") return { ca, insecure: false };
  const why = { absent: "does not exist", unreadable: "cannot be read by this user", read: "has no ca.crt" }[
    look.state
  ];
  report?.(`certificates of ${name} are not checked: Secret ${secretName} of namespace ${namespace} ${why}`);
  return { insecure: true };
}

function directivesOf({ directives }: ReferenceBase): Map<string, string> {
  return new Map(Object.entries(directives));
}
