import type { V1Pod } from "@kubernetes/client-node";
import { poll } from "../../lib/polling";
import { connect, isCertificateProblem, isTimeout } from "../../valkey/connection";
import { SENTINEL_ADMIN } from "../../valkey/access/users";
import type { NodeAccess, DeploymentNode, Mode } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { reuseConnections } from "../../valkey/reused-connections";
import { Failure, messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import type { SentinelSettings } from "../../valkey/sentinel-config";
import { type Shape, nodeCount } from "../../valkey/topology/placement";
import type { ClientWay } from "../../valkey/client-endpoints";
import type { ExpectedTuning } from "../../valkey/machine-settings";
import { readClientWays } from "./access/service-endpoints";
import type { KubernetesClient } from "./api/client";
import { MachineSettingsReader } from "./cluster/machine-settings";
import { isPodRunning, resourceName } from "./api/pod-diagnostics";
import { accessOf, memoryOf, nodesOf, serverOf } from "./pod-facts";
import type { Labels, PodSelection, PodWaitOptions } from "./pods/running-pods";
import {
  awaitPods,
  formatLabelSelector,
  listPods,
  PodsNotRunning,
  readPodLabels,
  readStartLine,
  POD_TIMEOUT_MS,
} from "./pods/running-pods";
import { openPortForward, PortForwardBroken } from "./api/port-forward";
import { Semaphore } from "../../lib/semaphore";

export interface PodDeploymentPlan {
  readonly name: string;
  readonly mode: Mode;
  readonly shape: Shape;
  readonly namespace: string;
  readonly pods: PodSelection;
  /** Name of the container that runs Valkey. @default each pod's first container */
  readonly container?: string | undefined;
  readonly port?: number | undefined;
  readonly zones?: readonly string[] | undefined;
  /** Values that directives must have on every node, in the form that CONFIG GET prints. */
  readonly directives: ReadonlyMap<string, string>;
  /** Without the built-in user `default`. @default users are not verified */
  readonly users?: Readonly<Record<string, string>> | undefined;
  readonly tuning?: ExpectedTuning | undefined;
  readonly access: NodeAccess;
  readonly tlsSecret?: string | undefined;
  readonly clusterDomain?: string | undefined;
  /** Services to which clients connect. @default Services are not verified */
  readonly ways?: readonly ClientWay[] | undefined;
  /** Whether this process can connect to the addresses of pods. @default false: this process uses port-forwards */
  readonly isDirect?: boolean | undefined;
  readonly sentinels?:
    | {
        readonly pods: PodSelection;
        readonly port: number;
        readonly settings: SentinelSettings;
        /** Password of the user `admin`. @default Sentinels have only the user `default`, as on the platform `host` */
        readonly password?: string | undefined;
      }
    | undefined;
}

export interface PodDeployment extends Deployment {
  readonly namespace: string;
  readonly labels: Labels;
  readonly image: string;
  readonly memoryBytes: number | undefined;
  readonly tlsSecret: string | undefined;
}

/** The number of open port-forwards has no limit. */
const OPENINGS_AT_ONCE = 32;
const ANSWER_POLL_MS = 100;
/** As often as all running servers are asked: each time, the pods are read, and each server gets a connection of its own. */
const PART_POLL_MS = 500;
/** It begins after the wait for all pods. */
const RUNNING_PART_MS = 15_000;
/** For servers to load a changed certificate. Kubelets check Secrets about once a minute. */
const CERTIFICATE_MS = 120_000;

/** @throws BadInput without the StatefulSet; Failure with the reason why pods do not run, or the missing permission */
export async function awaitPodDeployment(
  kubernetes: KubernetesClient,
  plan: PodDeploymentPlan,
  waiting: PodWaitOptions = {},
): Promise<PodDeployment> {
  const { namespace, container } = plan;
  const began = Date.now();
  const labels = await readPodLabels(kubernetes, namespace, plan.pods);
  const wanted = { namespace, labels, count: nodeCount(plan.shape), container };
  const pods = await awaitPods(kubernetes, wanted, waiting);
  const watchers = await sentinelPods(kubernetes, plan, waiting);
  const servers = await deploymentOf(kubernetes, plan, labels, pods, watchers);
  const { sentinels } = plan;
  const deployment =
    sentinels === undefined
      ? servers
      : {
          ...servers,
          sentinels: { settings: sentinels.settings, nodes: await nodesOf(kubernetes, watchers, sentinels.port) },
        };
  const left = (waiting.timeoutMs ?? POD_TIMEOUT_MS) - (Date.now() - began);
  const answers = deployment.nodes.map((node) =>
    awaitAnswer(deployment, node, Date.now() + left, waiting).catch(async (error: unknown) => {
      const said = await readStartLine(kubernetes, { namespace, pod: node.name, container });
      throw said === undefined ? error : new Failure(`${node.name} ${said}`, { cause: error });
    }),
  );
  await Promise.all(answers);
  return deployment;
}

/** May have fewer nodes than planned, no Sentinels, and servers that do not answer. @throws as `awaitPodDeployment` */
export async function runningPartOf(
  kubernetes: KubernetesClient,
  plan: PodDeploymentPlan,
  without: ReadonlySet<string> = new Set(),
): Promise<PodDeployment> {
  const { namespace, container } = plan;
  const labels = await readPodLabels(kubernetes, namespace, plan.pods);
  const pods = await listPods(kubernetes, namespace, formatLabelSelector(labels));
  const running = pods.filter((pod) => isPodRunning(pod, container) && !without.has(resourceName(pod)));
  return deploymentOf(kubernetes, plan, labels, running);
}

/** Each pod runs, or it is known why not; then the running servers answer. @throws BadInput without the StatefulSet */
export async function awaitRunningPart(
  kubernetes: KubernetesClient,
  plan: PodDeploymentPlan,
  waiting: PodWaitOptions = {},
): Promise<{ readonly deployment: PodDeployment; readonly why: string | undefined }> {
  const { namespace, container } = plan;
  const { signal } = waiting;
  const labels = await readPodLabels(kubernetes, namespace, plan.pods);
  const count = nodeCount(plan.shape);
  let why: string | undefined;
  try {
    await awaitPods(kubernetes, { namespace, labels, count, container }, waiting);
  } catch (error) {
    if (!(error instanceof PodsNotRunning)) throw error;
    why = error.message;
  }
  const deadline = Date.now() + RUNNING_PART_MS;
  const certified = Date.now() + Math.min(CERTIFICATE_MS, waiting.timeoutMs ?? POD_TIMEOUT_MS);
  const found = await poll(
    async () => {
      // The pods are read again each time, because a container that keeps exiting runs only now and then.
      const deployment = await runningPartOf(kubernetes, plan);
      const answers = await Promise.all(
        deployment.nodes.map((node) => answersNow(deployment, node, deadline, certified, waiting.report)),
      );
      return answers.every((each) => each) ? deployment : undefined;
    },
    { intervalMs: PART_POLL_MS, signal },
  );
  // The last attempt has thrown if a running server did not answer.
  const deployment = found ?? (await runningPartOf(kubernetes, plan));
  const running = deployment.nodes.length;
  return { deployment, why: running === count ? undefined : (why ?? `${running} of ${count} servers run`) };
}

async function deploymentOf(
  kubernetes: KubernetesClient,
  {
    name,
    mode,
    shape,
    namespace,
    container,
    port = 6379,
    zones,
    directives,
    users,
    access,
    tlsSecret,
    clusterDomain,
    tuning,
    ways,
    isDirect = false,
    sentinels,
  }: PodDeploymentPlan,
  labels: Labels,
  pods: readonly V1Pod[],
  watchers: readonly V1Pod[] = [],
): Promise<PodDeployment> {
  const openings = new Semaphore(OPENINGS_AT_ONCE);
  const { password } = sentinels ?? {};
  const admin = password === undefined ? access : { tls: access.tls, username: SENTINEL_ADMIN, password };
  const accessTo = new Map([
    ...pods.map((pod) => [resourceName(pod), accessOf(pod, access, clusterDomain)] as const),
    ...watchers.map((pod) => [resourceName(pod), accessOf(pod, admin, clusterDomain)] as const),
  ]);
  const open: Deployment["connect"] = (node, timeoutMs) => {
    const forward = (): ReturnType<typeof openPortForward> =>
      openings.run(() => openPortForward(kubernetes, { namespace, pod: node.name, port: node.endpoint.port }));
    const nodeAccess = accessTo.get(node.name) ?? access;
    return connect(node.name, node.endpoint, nodeAccess, timeoutMs, isDirect ? undefined : forward);
  };
  return {
    name,
    mode,
    shape,
    nodes: await nodesOf(kubernetes, pods, port),
    zones,
    directives,
    users,
    access,
    tlsSecret,
    namespace,
    labels,
    image: serverOf(pods[0], container)?.image ?? "",
    memoryBytes: memoryOf(serverOf(pods[0], container), "requests"),
    memoryLimits: new Map(
      pods.flatMap((pod): [string, number][] => {
        const limit = memoryOf(serverOf(pod, container), "limits");
        return limit === undefined ? [] : [[resourceName(pod), limit]];
      }),
    ),
    tuning: tuning && { expected: tuning, read: machineReader(kubernetes, namespace, pods, container) },
    readWays: ways && (() => readClientWays(kubernetes, { namespace, ways, port, access, clusterDomain, isDirect })),
    ...reuseConnections({ connect: open }),
    // Addresses for pods need not lead anywhere from here, nor do addresses for clients outside the Kubernetes cluster.
    hasClientsElsewhere: true,
  };
}

function machineReader(
  kubernetes: KubernetesClient,
  namespace: string,
  pods: readonly V1Pod[],
  container: string | undefined,
): NonNullable<Deployment["tuning"]>["read"] {
  const reader = new MachineSettingsReader(kubernetes);
  const server = new Map(pods.map((pod) => [resourceName(pod), serverOf(pod, container)?.name ?? ""]));
  return ({ name, machine }) => reader.read({ namespace, pod: name, container: server.get(name) ?? "", machine });
}

async function sentinelPods(
  kubernetes: KubernetesClient,
  { namespace, sentinels }: PodDeploymentPlan,
  waiting: PodWaitOptions,
): Promise<readonly V1Pod[]> {
  if (sentinels === undefined) return [];
  const labels = await readPodLabels(kubernetes, namespace, sentinels.pods);
  return awaitPods(kubernetes, { namespace, labels, count: sentinels.settings.count }, waiting);
}

/** Its container may run before the server listens, and a busy machine may answer late. */
async function awaitAnswer(
  deployment: Deployment,
  node: DeploymentNode,
  deadline: number,
  { signal, report }: PodWaitOptions,
): Promise<void> {
  const certified = Math.min(deadline, Date.now() + CERTIFICATE_MS);
  await poll(async () => ((await answersNow(deployment, node, deadline, certified, report)) ? true : undefined), {
    intervalMs: ANSWER_POLL_MS,
    signal,
  });
}

/**
 * @param certified time until which a new certificate may still be loaded
 * @throws Failure after the deadline, or for a reason that no later attempt changes
 */
async function answersNow(
  deployment: Deployment,
  node: DeploymentNode,
  deadline: number,
  certified: number,
  report: ReportProgress | undefined,
): Promise<boolean> {
  try {
    (await deployment.connect(node)).disconnect();
    return true;
  } catch (error) {
    const cause = error instanceof Failure ? error.cause : undefined;
    const until = isCertificateProblem(cause) ? certified : deadline;
    const mayChange = cause instanceof PortForwardBroken || isTimeout(cause) || isCertificateProblem(cause);
    if (!mayChange || Date.now() > until) throw error;
    if (isCertificateProblem(cause))
      report?.(`${messageOf(error)}; the server may not have loaded a new certificate yet`, true);
    return false;
  }
}
