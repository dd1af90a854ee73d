/** Objects that lead to the primary in replication mode: Services for clients, and a ConfigMap for servers that start without Sentinels. */
import { isDeepStrictEqual } from "node:util";
import type { V1Pod } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import type { Labels } from "../pods/pods";
import { resourceName } from "../api/pod-diagnostics";
import { formatLabelSelector, listPods, POD_NAME_LABEL } from "../pods/pods";

/** Names of the objects, and labels of the pods that Services can lead to. */
export interface PrimaryLead {
  /** Services of the primary. One that does not exist is left out. */
  readonly services: readonly string[];
  /** Labels of all servers. */
  readonly servers: Labels;
  /** Labels of proxies, to which the Services lead where Sentinels decide. @default no proxies */
  readonly proxies?: Labels | undefined;
  /** ConfigMap that names the primary's pod. */
  readonly configMap: string;
}

/** A deployment's lead, in its namespace. */
export interface LeadPlace {
  readonly namespace: string;
  readonly lead: PrimaryLead;
}

const ANNOTATION = "valkey/primary";

/** Key of the ConfigMap, and name of the file that pods read. */
export const DESIGNATED_KEY = "pod";

/** Labels of the one pod, or of the proxies, that a Service of the primary leads to. */
export function leadLabels({ servers, proxies }: PrimaryLead, pod: string): Labels {
  return proxies ?? { ...servers, [POD_NAME_LABEL]: pod };
}

/** The pod that servers without Sentinels take for the primary; undefined where the ConfigMap does not exist. */
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

/** Whether every Service that exists leads there. @throws Failure when a Service may not be read */
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

/** Leads clients to a pod, or to the proxies where there are any. @throws Failure when a Service may not be changed */
export async function leadClients(
  kubernetes: KubernetesClient,
  { namespace, lead }: LeadPlace,
  pod: string,
): Promise<void> {
  const body = [{ op: "replace", path: "/spec/selector", value: leadLabels(lead, pod) }];
  await Promise.all(
    lead.services.map((name) =>
      kubernetes.find(
        `leading Service ${name} of namespace ${namespace} to ${pod}`,
        kubernetes.core.patchNamespacedService({ namespace, name, body }),
      ),
    ),
  );
}

/**
 * Has servers that start without Sentinels take this pod for the primary. An annotation of the pods that run has their machines look at the
 * ConfigMap soon; by themselves they do after a minute or so.
 * @throws Failure when the ConfigMap does not exist, or may not be changed
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
