import type { V1Endpoint, V1EndpointSlice } from "@kubernetes/client-node";
import { messageOf } from "../../../lib/errors";
import { connect } from "../../../valkey/connection";
import type { NodeAccess } from "../../../valkey/node";
import { type Observation, observed, unobserved } from "../../../valkey/observation";
import { parseInfo } from "../../../valkey/topology/replies";
import type { ClientWay, ClientWayFacts } from "../../../valkey/client-endpoints";
import type { KubernetesClient } from "../api/client";
import { openPortForward } from "../api/port-forward";
import { CLUSTER_DOMAIN } from "../api/cluster-domain";
import { withConnection } from "../../../valkey/connections";

const SERVICE_LABEL = "kubernetes.io/service-name";
const LOGIN_MS = 5_000;

interface ClientWaysPlan {
  readonly namespace: string;
  readonly ways: readonly ClientWay[];
  readonly port: number;
  readonly access: NodeAccess;
  /** Domain at the end of cluster-wide DNS names. @default "cluster.local" */
  readonly clusterDomain?: string | undefined;
  /** Whether this process can connect to the addresses of pods. @default false: this process uses port-forwards */
  readonly isDirect?: boolean | undefined;
}

interface ReadyPod {
  readonly name: string;
  readonly address: string;
}

export async function readClientWays(kubernetes: KubernetesClient, plan: ClientWaysPlan): Promise<ClientWayFacts[]> {
  const { namespace, ways } = plan;
  const names = ways.map(({ service }) => service);
  const { items } = await kubernetes.call(
    `listing the endpoints of Services of namespace ${namespace}`,
    kubernetes.discovery.listNamespacedEndpointSlice({
      namespace,
      labelSelector: `${SERVICE_LABEL} in (${names.join(",")})`,
    }),
  );
  return Promise.all(
    ways.map(async (way) => {
      const pods = readyPods(items.filter(({ metadata }) => metadata?.labels?.[SERVICE_LABEL] === way.service));
      const endpoints = await Promise.all(
        pods.map(async (pod) =>
          way.proxies === undefined
            ? { pod: pod.name }
            : { pod: pod.name, runId: await serverBehind(kubernetes, plan, way, pod) },
        ),
      );
      return { ...way, endpoints };
    }),
  );
}

/** A pod with an IPv4 and an IPv6 address is in two slices; the result contains this pod once. */
function readyPods(slices: readonly V1EndpointSlice[]): ReadyPod[] {
  // The API server answers null for a slice without endpoints.
  const ready = slices
    .flatMap(({ endpoints }) => (endpoints as V1Endpoint[] | null) ?? [])
    .filter(({ conditions }) => conditions?.ready !== false);
  const addresses = ready.flatMap(({ targetRef, addresses: [address = ""] }) =>
    targetRef?.name === undefined ? [] : [[targetRef.name, address] as const],
  );
  return [...new Map(addresses)]
    .map(([name, address]) => ({ name, address }))
    .sort((a, b) => a.name.localeCompare(b.name));
}

/** Through a proxy, with its run ID. With TLS, the certificate must contain the name of the Service. */
async function serverBehind(
  kubernetes: KubernetesClient,
  { namespace, port, access, clusterDomain = CLUSTER_DOMAIN, isDirect = false }: ClientWaysPlan,
  { service }: ClientWay,
  { name: pod, address }: ReadyPod,
): Promise<Observation<string>> {
  const host = `${service}.${namespace}.svc.${clusterDomain}`;
  const own: NodeAccess = access.tls === undefined ? access : { ...access, tls: { ...access.tls, sni: host } };
  try {
    const dial = (): ReturnType<typeof openPortForward> => openPortForward(kubernetes, { namespace, pod, port });
    const endpoint = { host: isDirect ? address : host, port };
    const opening = connect(pod, endpoint, own, LOGIN_MS, isDirect ? undefined : dial);
    const info = parseInfo(await withConnection(opening, (connection) => connection.info("server")));
    return observed(info.get("run_id") ?? "");
  } catch (error) {
    return unobserved(messageOf(error));
  }
}
