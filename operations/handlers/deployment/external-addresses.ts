/** Finds the addresses for clients outside the Kubernetes cluster, and makes the nodes of a cluster announce them. */
import { lookup } from "node:dns/promises";
import { problem, Failure } from "../../../lib/errors";
import {
  type KubernetesReference,
  openDeployment,
  openKubernetesClient,
} from "../../../platforms/deployment-reference";
import { type PodWaitOptions, POD_TIMEOUT_MS } from "../../../platforms/kubernetes/pods/running-pods";
import { type Announced, announce, announcedConfig, announcementDrift } from "../../../valkey/announcement";
import type { Deployment } from "../../../valkey/deployment";
import { type Endpoint, formatEndpoint } from "../../../valkey/node";
import { nodeCount } from "../../../valkey/topology/placement";
import { majorVersion, tagOf } from "../../../valkey/settings/version";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { LOOK_MS } from "../../protocol/opening";
import { waitOptions } from "../../protocol/waiting";
import { poll } from "../../../lib/polling";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";

const POLL_MS = 500;

export interface ExternalAddressesInputs {
  readonly target: KubernetesReference;
  readonly password: string;
  /** Access for clients outside the Kubernetes cluster. @default no access from outside */
  readonly external?: ExternalRequest | undefined;
  /** @default any version of Valkey */
  readonly image?: string | undefined;
  /** A new revision restarts the pods, perhaps on different machines. */
  readonly revision: string;
  /** Nodes have the same time again to announce the addresses. */
  readonly timeoutSeconds: number;
}

export interface ExternalRequest {
  readonly type: "LoadBalancer" | "NodePort";
  /** In cluster mode there is one Service for each pod, in the order of the pods. */
  readonly services: readonly string[];
}

export interface ExternalAddressesOutputs {
  readonly endpoints: readonly string[];
  /** Included by the server of a pod when it starts; none in replication mode. */
  readonly files: Readonly<Record<string, string>>;
  /** Differences that `pulumi refresh` found, one sentence for each; empty if it found no differences. */
  readonly drift: readonly string[];
}

const NOTHING: ExternalAddressesOutputs = { endpoints: [], files: {}, drift: [] };
/** Line in a pod's file that tells keep-cluster.sh to announce the address of the pod's machine. */
const MACHINE = "# machine\n";
/** Version 9.1 has `cluster-announce-client-port`. Version 9.0 was not tested. */
const NODE_PORT_MAJOR = 9;

const podName = ({ statefulSet }: KubernetesReference, index: number): string => `${statefulSet}-${index}`;

async function endpointsOf(
  { target, external }: ExternalAddressesInputs,
  waiting: PodWaitOptions,
): Promise<ExternalEndpoint[]> {
  if (external === undefined) return [];
  const services = external.services.map((name, index) => ({
    name,
    pod: podName(target, target.mode === "cluster" ? index : 0),
  }));
  return awaitExternalEndpoints(await openKubernetesClient(target), target.namespace, services, waiting);
}

function outputsOf(
  { target, external }: ExternalAddressesInputs,
  endpoints: readonly ExternalEndpoint[],
): Omit<ExternalAddressesOutputs, "drift"> {
  const configOf = ({ address, port }: ExternalEndpoint): string =>
    (external?.type === "NodePort" ? MACHINE : "") +
    announcedConfig({ host: address, port }, { port: target.port, tls: target.tls !== undefined });
  return {
    endpoints: endpoints.map(formatEndpoint),
    files:
      target.mode === "cluster"
        ? Object.fromEntries(endpoints.map((each, index) => [`${podName(target, index)}.conf`, configOf(each)]))
        : {},
  };
}

function announcedBy({ nodes }: Deployment, target: KubernetesReference, all: readonly ExternalEndpoint[]): Announced {
  const byPod = new Map(all.map(({ address, port }, index) => [podName(target, index), { host: address, port }]));
  return new Map(nodes.map((node) => [node, byPod.get(node.name)]));
}

async function apply(inputs: ExternalAddressesInputs, context: HandlerContext): Promise<ExternalAddressesOutputs> {
  const { target, password, timeoutSeconds } = inputs;
  const options = waitOptions(target.name, timeoutSeconds, context);
  const endpoints = await endpointsOf(inputs, options);
  if (target.mode === "cluster") {
    const deployment = await openDeployment(target, password, options);
    await announce(deployment, announcedBy(deployment, target, endpoints), target.tls !== undefined, options);
  }
  return { ...outputsOf(inputs, endpoints), drift: [] };
}

/**
 * Sets the announced addresses on all nodes. After a failure, some nodes of a cluster announce the new addresses and
 * other nodes announce the former addresses. All these addresses work as long as their Services exist. The next update
 * sets the addresses on all nodes, or removes the addresses if there is no access from outside any more.
 */
export const handler: ResourceHandler<ExternalAddressesInputs, ExternalAddressesOutputs> = {
  check: (_olds, { target, external, image }) => {
    const major = majorVersion(tagOf(image ?? "") ?? "");
    const isTooOld =
      external?.type === "NodePort" && target?.mode === "cluster" && (major ?? Infinity) < NODE_PORT_MAJOR;
    return Promise.resolve(
      isTooOld
        ? [
            problem(
              "port-not-announced",
              "external.type",
              `with NodePort, servers must tell clients the port of a Service, but servers of the image ${image ?? ""} can tell clients only their own port. ` +
                "Expected LoadBalancer, or an image with Valkey 9.1 or newer",
            ),
          ]
        : [],
    );
  },
  describeChange: (olds, { target, external }) => {
    if (target?.mode !== "cluster" || external?.type === olds.external?.type) return [];
    const nodes = `${nodeCount(target.shape)} running nodes`;
    return [
      external === undefined
        ? `${nodes} give clients the addresses of pods again; no restart, but clients outside the Kubernetes cluster cannot connect any more`
        : `${nodes} give the addresses of Services to all clients, also to clients inside the Kubernetes cluster; type of the Services: ` +
          `${external.type}; no restart, connections stay open`,
    ];
  },
  create: async (inputs, context) => ({
    id: inputs.target.name,
    outputs: inputs.external === undefined ? NOTHING : await apply(inputs, context),
  }),
  recordsAttempts: true,
  update: (_id, olds, news, context, attempts = []) =>
    [olds, ...attempts, news].every(({ external }) => external === undefined) && olds.drift.length === 0
      ? Promise.resolve(NOTHING)
      : apply(news, context),
  read: async (_id, { endpoints, files, drift, ...inputs }, { signal }) => {
    const { target, password } = inputs;
    if (target.mode !== "cluster" && inputs.external === undefined) return NOTHING;
    try {
      const looking = { timeoutMs: LOOK_MS, signal };
      const found = await endpointsOf(inputs, looking);
      if (target.mode !== "cluster") return { ...outputsOf(inputs, found), drift: [] };
      const deployment = await openDeployment(target, password, looking);
      const wanted = announcedBy(deployment, target, found);
      return {
        ...outputsOf(inputs, found),
        drift: await announcementDrift(deployment, wanted, target.tls !== undefined),
      };
    } catch {
      // DeploymentVerification reports nodes that do not answer.
      return { endpoints, files, drift };
    }
  },
  drifted: ({ drift }) => drift.length > 0,
};

/** If its type is NodePort, clients use the address of the machine of `pod`. */
interface ExternalService {
  readonly name: string;
  readonly pod: string;
}

interface ExternalEndpoint extends Endpoint {
  readonly address: string;
}

async function awaitExternalEndpoints(
  kubernetes: KubernetesClient,
  namespace: string,
  services: readonly ExternalService[],
  { timeoutMs = POD_TIMEOUT_MS, signal, report }: PodWaitOptions = {},
): Promise<ExternalEndpoint[]> {
  let reasons: string[] = [];
  const found = await poll(
    async () => {
      const answers = await Promise.all(services.map((each) => endpointOf(kubernetes, namespace, each)));
      reasons = answers.filter((each) => typeof each === "string");
      if (reasons.length > 0) report?.(reasons[0] ?? "", true);
      return reasons.length > 0 ? undefined : answers.filter((each) => typeof each !== "string");
    },
    { intervalMs: POLL_MS, timeoutMs, signal },
  );
  if (found !== undefined) return found;
  throw new Failure(`after ${Math.round(timeoutMs / 1000)} s: ${reasons.join("; ")}`);
}

/** Address of a Service for clients. @returns the address, or the reason why the Service has no address yet */
async function endpointOf(
  kubernetes: KubernetesClient,
  namespace: string,
  { name, pod }: ExternalService,
): Promise<ExternalEndpoint | string> {
  const { core } = kubernetes;
  const service = await kubernetes.find(`reading Service ${name}`, core.readNamespacedService({ namespace, name }));
  if (service === undefined) return `there is no Service ${name}`;
  const [port] = service.spec?.ports ?? [];
  if (service.spec?.type === "NodePort") {
    const { status } = await kubernetes.call(`reading pod ${pod}`, core.readNamespacedPod({ namespace, name: pod }));
    const host = status?.hostIP;
    if (port?.nodePort === undefined || host === undefined) return `Service ${name} has no node port yet`;
    return { host, address: host, port: port.nodePort };
  }
  const [ingress] = service.status?.loadBalancer?.ingress ?? [];
  const host = ingress?.ip ?? ingress?.hostname;
  if (host === undefined || port === undefined)
    return `Service ${name} has no address yet; check that a load balancer controller runs: kubectl describe service ${name}`;
  const address = ingress?.ip ?? (await resolved(host));
  return address === undefined
    ? `the host name ${host} of Service ${name} does not resolve yet`
    : { host, address, port: port.port };
}

/** The first of a host's addresses in sorted order, so that repeated calls give the same result. */
async function resolved(host: string): Promise<string | undefined> {
  try {
    const addresses = await lookup(host, { all: true, family: 4 });
    return addresses.map(({ address }) => address).sort()[0];
  } catch {
    return undefined;
  }
}
