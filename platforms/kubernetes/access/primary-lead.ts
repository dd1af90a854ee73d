/** Objects that lead to the primary in replication mode: Services for clients, and a ConfigMap for servers that start without Sentinels. */
import type { KubernetesClient } from "../api/client";
import type { Labels } from "../pods/pods";
import { POD_NAME_LABEL } from "../pods/pods";

/** Names of the objects, and labels of the pods that Services can lead to. */
export interface PrimaryLead {
  /** Services of the primary. One that does not exist is left out. */
  readonly services: readonly string[];
  /** Labels of all servers. */
  readonly servers: Labels;
  /** Labels of proxies, to which the Services lead where Sentinels decide. @default no proxies */
  readonly proxies?: Labels | undefined;
  /** ConfigMap whose file `pod` names the primary's pod. */
  readonly configMap: string;
}

/** A deployment's lead, in its namespace. */
export interface LeadPlace {
  readonly namespace: string;
  readonly lead: PrimaryLead;
}

/** File of the ConfigMap. */
export const DESIGNATED = "pod";

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
  return found?.data?.[DESIGNATED];
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

/** Has servers that start without Sentinels take this pod for the primary. @throws Failure when the ConfigMap may not be changed */
export async function designate(
  kubernetes: KubernetesClient,
  { namespace, lead: { configMap: name } }: LeadPlace,
  pod: string,
): Promise<void> {
  const body = [{ op: "add", path: "/data", value: { [DESIGNATED]: pod } }];
  await kubernetes.find(
    `naming ${pod} in ConfigMap ${name} of namespace ${namespace}`,
    kubernetes.core.patchNamespacedConfigMap({ namespace, name, body }),
  );
}
