import type { V1Container, V1Pod } from "@kubernetes/client-node";
import type { NodeAccess, DeploymentNode } from "../../valkey/node";
import type { KubernetesClient } from "./api/client";
import { parseQuantity } from "./api/quantity";
import { CLUSTER_DOMAIN } from "./api/cluster-domain";
import { describeMachines } from "./cluster/machines";
import { resourceName } from "./api/pod-diagnostics";

export async function nodesOf(
  kubernetes: KubernetesClient,
  pods: readonly V1Pod[],
  port: number,
): Promise<DeploymentNode[]> {
  const machines = await describeMachines(
    kubernetes,
    pods.map(({ spec }) => spec?.nodeName ?? ""),
  );
  const zoneOf = new Map(machines.map(({ name, zone }) => [name, zone ?? undefined]));
  return pods.map((pod) => {
    const machine = pod.spec?.nodeName ?? "";
    return {
      name: resourceName(pod),
      machine,
      zone: zoneOf.get(machine),
      endpoint: { host: pod.status?.podIP ?? "", port },
    };
  });
}

/** The certificate must contain the pod's stable DNS name, because its address changes. */
export function accessOf(pod: V1Pod, access: NodeAccess, clusterDomain = CLUSTER_DOMAIN): NodeAccess {
  const { tls } = access;
  const { subdomain, hostname = resourceName(pod) } = pod.spec ?? {};
  if (tls === undefined || tls.sni !== undefined || subdomain === undefined) return access;
  return {
    ...access,
    tls: { ...tls, sni: `${hostname}.${subdomain}.${pod.metadata?.namespace ?? "default"}.svc.${clusterDomain}` },
  };
}

/** @param container name of the container. @default the pod's first container */
export function serverOf(pod: V1Pod | undefined, container: string | undefined): V1Container | undefined {
  const containers = pod?.spec?.containers ?? [];
  return container === undefined ? containers[0] : containers.find(({ name }) => name === container);
}

/** Memory request or limit of a container, bytes; undefined if it has none. */
export function memoryOf(container: V1Container | undefined, which: "requests" | "limits"): number | undefined {
  const asked = container?.resources?.[which]?.["memory"];
  return asked === undefined ? undefined : parseQuantity(asked);
}
