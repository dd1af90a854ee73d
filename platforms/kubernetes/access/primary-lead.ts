/** Clients use Services. Servers without Sentinels read a ConfigMap when they start. */
import { isDeepStrictEqual } from "node:util";
import type { V1Pod } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import { type Labels, formatLabelSelector, listPods, POD_NAME_LABEL } from "../pods/running-pods";
import { resourceName } from "../api/pod-diagnostics";

/**
 * Names of the objects by which clients and servers find the primary, and labels of the pods to which Services can
 * route.
 */
export interface PrimaryLead {
  /** Names of the Services of the primary. Services that do not exist are skipped. */
  readonly services: readonly string[];
  /** Labels of all servers. */
  readonly servers: Labels;
  /** Labels of proxies. If there are Sentinels, the Services route to the proxies. @default no proxies */
  readonly proxies?: Labels | undefined;
  /** Name of the ConfigMap that names the primary's pod. */
  readonly configMap: string;
}

export interface LeadPlace {
  readonly namespace: string;
  readonly lead: PrimaryLead;
}

const ANNOTATION = "valkey/primary";

/** Pods read this value from a file of the same name. */
export const DESIGNATED_KEY = "pod";

/** Those of the proxies or, if there are none, those of `pod`. */
export function leadLabels({ servers, proxies }: PrimaryLead, pod: string): Labels {
  return proxies ?? { ...servers, [POD_NAME_LABEL]: pod };
}

/** Servers without Sentinels consider it the primary. Undefined if the ConfigMap does not exist. */
export async function designatedPod(
  kubernetes: KubernetesClient,
  { namespace, lead: { configMap: name } }: LeadPlace,
): Promise<string | undefined> {
  const found = await kubernetes.find(
    `reading ConfigMap ${name} of namespace ${namespace}`,
    kubernetes.core.readNamespacedConfigMap({ namespace, name }),
  );
  return found?.data?.[DESIGNATED_KEY];
}

export async function areLed(
  kubernetes: KubernetesClient,
  { namespace, lead }: LeadPlace,
  pod: string,
): Promise<boolean> {
  const wanted = leadLabels(lead, pod);
  const found = await Promise.all(
    lead.services.map((name) =>
      kubernetes.find(
        `reading Service ${name} of namespace ${namespace}`,
        kubernetes.core.readNamespacedService({ namespace, name }),
      ),
    ),
  );
  return found.every((service) => service === undefined || isDeepStrictEqual(service.spec?.selector, wanted));
}

export async function leadClients(
  kubernetes: KubernetesClient,
  { namespace, lead }: LeadPlace,
  pod: string,
): Promise<void> {
  const body = [{ op: "replace", path: "/spec/selector", value: leadLabels(lead, pod) }];
  await Promise.all(
    lead.services.map((name) =>
      kubernetes.find(
        `pointing Service ${name} of namespace ${namespace} to ${pod}`,
        kubernetes.core.patchNamespacedService({ namespace, name, body }),
      ),
    ),
  );
}

/**
 * Servers without Sentinels read it when they start. Running pods are annotated, so that their kubelets read the change
 * soon, not after about a minute.
 * @throws Failure without the ConfigMap, or the permission
 */
export async function designate(
  kubernetes: KubernetesClient,
  { namespace, lead: { configMap: name, servers } }: LeadPlace,
  pod: string,
): Promise<void> {
  const body = [{ op: "add", path: "/data", value: { [DESIGNATED_KEY]: pod } }];
  await kubernetes.call(
    `naming ${pod} in ConfigMap ${name} of namespace ${namespace}`,
    kubernetes.core.patchNamespacedConfigMap({ namespace, name, body }),
  );
  const pods = await listPods(kubernetes, namespace, formatLabelSelector(servers));
  const note = (each: V1Pod): Promise<unknown> => {
    const annotations = { ...each.metadata?.annotations, [ANNOTATION]: pod };
    const patch = [{ op: "add", path: "/metadata/annotations", value: annotations }];
    return kubernetes.core
      .patchNamespacedPod({ namespace, name: resourceName(each), body: patch })
      .catch(() => undefined);
  };
  await Promise.all(pods.map(note));
}
