/** Waits until EKS gives new pods of a service account their AWS credentials, before such a pod is created. */
import { messageOf } from "../../lib/errors";
import { KubernetesClient } from "../../platforms/kubernetes/api/client";
import { awaitPodCredentials } from "../../platforms/kubernetes/pods/pod-credentials";
import type { HandlerContext, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";

export interface PodCredentialsInputs {
  /** Path or text of the kubeconfig. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace: string;
  readonly serviceAccount: string;
  /** Purpose of the credentials, for messages. A change waits again, because EKS may have a new association for it. */
  readonly purpose: string;
  /** Time limit for the credentials, seconds. */
  readonly timeoutSeconds: number;
}

export const handler: ResourceHandler<PodCredentialsInputs, object> = {
  create: async (inputs, context) => {
    await awaitCredentials(inputs, context);
    return { id: `${inputs.namespace}/${inputs.serviceAccount}`, outputs: {} };
  },
  update: async (_id, olds, news, context) => {
    if (olds.purpose !== news.purpose) await awaitCredentials(news, context);
    return {};
  },
  replaceOn: ["namespace", "serviceAccount"],
};

/**
 * Waits for the credentials. Without credentials, the update goes on: machines may have a role that pods can use, and a
 * user may lack the right to create pods.
 */
async function awaitCredentials(
  { kubeconfig, context, namespace, serviceAccount, timeoutSeconds }: PodCredentialsInputs,
  handling: HandlerContext,
): Promise<void> {
  const { signal, report } = handling;
  const account = `the service account ${serviceAccount} of namespace ${namespace}`;
  try {
    const kubernetes = await KubernetesClient.open({ kubeconfig, context });
    const options = waitOptions(serviceAccount, timeoutSeconds, handling);
    if (await awaitPodCredentials(kubernetes, { namespace, serviceAccount }, options)) return;
    report(
      `EKS gives pods of ${account} no AWS credentials; create an EKS Pod Identity association for it, ` +
        "then delete the pod, so that a new pod gets them",
    );
  } catch (error) {
    signal.throwIfAborted();
    report(`it is not known whether pods of ${account} get AWS credentials: ${messageOf(error)}`);
  }
}
