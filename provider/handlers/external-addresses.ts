/** Learns where clients outside reach a deployment, and has the nodes of a cluster tell them. */
import type { KubernetesReference } from "../../platforms/deployment-reference";
import { openDeployment, openKubernetesClient } from "../../platforms/deployment-reference";
import type { ExternalEndpoint } from "../../platforms/kubernetes/access/external-endpoints";
import { awaitExternalEndpoints } from "../../platforms/kubernetes/access/external-endpoints";
import type { PodWaitOptions } from "../../platforms/kubernetes/pods/pods";
import type { Announced } from "../../valkey/announcement";
import { announce, announcedConfig, announcementDrift } from "../../valkey/announcement";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { nodeCount } from "../../valkey/topology/placement";
import { majorVersion, tagOf } from "../../valkey/settings/version";
import type { HandlerContext, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface ExternalAddressesInputs {
  readonly target: KubernetesReference;
  readonly password: string;
  /** Null where nobody outside connects. */
  readonly external: ExternalRequest | null;
  /** Image of the servers. */
  readonly image: string;
  /** Revision of the pods: a new one restarts them, perhaps on other machines. */
  readonly revision: string;
  /** Time limit for Services to get addresses, and then for nodes to learn them. */
  readonly timeoutSeconds: number;
}

export interface ExternalRequest {
  readonly type: "LoadBalancer" | "NodePort";
  /** Names: of a cluster one for each pod, in their order. */
  readonly services: readonly string[];
}

export interface ExternalAddressesOutputs {
  /** `HOST:PORT` of each Service. */
  readonly endpoints: readonly string[];
  /** Files that the server of each pod includes when it starts, by name; none in replication mode. */
  readonly files: Readonly<Record<string, string>>;
  /** Differences that `pulumi refresh` found, a sentence each; empty when there are none. */
  readonly drift: readonly string[];
}

const NOTHING: ExternalAddressesOutputs = { endpoints: [], files: {}, drift: [] };
/** For a look that changes nothing. */
const LOOK_MS = 15_000;
/** Has ready-cluster.sh look whether the pod is on another machine. */
const MACHINE = "# machine\n";
/** The first with `cluster-announce-client-port`, or the one before it: 9.0 was not tried. */
const NODE_PORT_MAJOR = 9;

const podName = ({ statefulSet }: KubernetesReference, index: number): string => `${statefulSet}-${index}`;

async function endpointsOf(
  { target, external }: ExternalAddressesInputs,
  waiting: PodWaitOptions,
): Promise<ExternalEndpoint[]> {
  if (external === null) return [];
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
 * A failure leaves some nodes of a cluster that give clients the new addresses and others that give the former ones; all of them lead to
 * their nodes as long as their Services exist. The next update tells all nodes, also that nobody outside connects any more.
 */
export const handler: ResourceHandler<ExternalAddressesInputs, ExternalAddressesOutputs> = {
  check: (_olds, { target, external, image }) => {
    const major = majorVersion(tagOf(image ?? "") ?? "");
    const isTooOld =
      external?.type === "NodePort" && target?.mode === "cluster" && (major ?? Infinity) < NODE_PORT_MAJOR;
    return Promise.resolve(
      isTooOld
        ? [
            {
              property: "external.type",
              reason:
                `nodes of ${image ?? ""} cannot give clients another port than their own: NodePort needs Valkey 9.1. ` +
                "Expected LoadBalancer, or a newer image",
            },
          ]
        : [],
    );
  },
  describeChange: (olds, { target, external }) => {
    if (target?.mode !== "cluster" || external === undefined || external?.type === olds.external?.type) return [];
    const nodes = `${nodeCount(target.shape)} running nodes`;
    return [
      external === null
        ? `clients are given the addresses of pods again, by ${nodes}; no restart, and clients outside cannot connect any more`
        : `clients, inside as well, are given the addresses of Services of the type ${external.type}, by ${nodes}; ` +
          "no restart, connections stay",
    ];
  },
  create: async (inputs, context) => ({
    id: inputs.target.name,
    outputs: inputs.external === null ? NOTHING : await apply(inputs, context),
  }),
  recordsAttempts: true,
  update: (_id, olds, news, context, attempts = []) =>
    [olds, ...attempts, news].every(({ external }) => external === null) && olds.drift.length === 0
      ? Promise.resolve(NOTHING)
      : apply(news, context),
  read: async (_id, { endpoints, files, drift, ...inputs }, { signal }) => {
    const { target, password } = inputs;
    if (target.mode !== "cluster" && inputs.external === null) return NOTHING;
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
      // The check of the topology reports what does not answer.
      return { endpoints, files, drift };
    }
  },
  drifted: ({ drift }) => drift.length > 0,
  silentInputs: ["password", "timeoutSeconds"],
};
