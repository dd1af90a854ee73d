/** Waits until EKS gives new pods of a service account their AWS credentials, before such a pod is created. */
import type { V1Pod } from "@kubernetes/client-node";
import { messageOf } from "../../lib/errors";
import { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { HandlerContext, ResourceHandler } from "../protocol/resource-handler";
import { waitOptions } from "../protocol/waiting";
import type { WaitOptions } from "../../lib/progress";
import { holdsInTime } from "../../lib/polling";
import type { Plain } from "../../platforms/kubernetes/api/plain";

const POLL_MS = 4_000;
/** In a row. EKS has several API servers, and each learns of an association by itself. */
const ADMISSIONS = 3;
/** Variables that tell the AWS SDK where to get credentials: EKS Pod Identity, and IAM roles for service accounts. */
const VARIABLES: readonly string[] = ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_WEB_IDENTITY_TOKEN_FILE"];

export interface PodCredentialsInputs {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace: string;
  readonly serviceAccount: string;
  /** A change waits again, because EKS may have a new association for it. */
  readonly purpose: string;
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

/** Without them the update goes on: machines may have a role, and a user may lack the right to create pods. */
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

export interface PodCreator {
  readonly core: {
    createNamespacedPod(request: {
      readonly namespace: string;
      readonly body: V1Pod;
      readonly dryRun: string;
    }): Promise<Plain<V1Pod>>;
  };
  call<T>(doing: string, answer: Promise<T>): Promise<T>;
}

export interface ServiceAccountPlace {
  readonly namespace: string;
  readonly serviceAccount: string;
}

/**
 * A pod that EKS admits before an association takes effect never gets credentials, even if its container restarts, and
 * no request says whether it is in effect. So a pod is admitted without creating it (a dry run).
 * @throws Failure if the API server does not admit it
 */
export async function awaitPodCredentials(
  kubernetes: PodCreator,
  place: ServiceAccountPlace,
  { timeoutMs, signal, report }: WaitOptions,
  pollMs = POLL_MS,
): Promise<boolean> {
  let admissions = 0;
  const areThere = async (): Promise<boolean> => {
    admissions = (await getsCredentials(kubernetes, place)) ? admissions + 1 : 0;
    if (admissions === 0)
      report(`EKS gives pods of the service account ${place.serviceAccount} no credentials yet`, true);
    return admissions >= ADMISSIONS;
  };
  return holdsInTime(areThere, { timeoutMs, intervalMs: pollMs, signal });
}

async function getsCredentials(
  kubernetes: PodCreator,
  { namespace, serviceAccount }: ServiceAccountPlace,
): Promise<boolean> {
  const pod = kubernetes.core.createNamespacedPod({ namespace, body: probe(serviceAccount), dryRun: "All" });
  const { spec } = await kubernetes.call(
    `trying a pod of the service account ${serviceAccount} in namespace ${namespace}`,
    pod,
  );
  return (spec?.containers ?? []).some(({ env }) => env?.some(({ name }) => VARIABLES.includes(name)) === true);
}

/** Allowed by the restricted Pod Security Standard and quotas. It is never created. */
function probe(serviceAccount: string): V1Pod {
  const amounts = { cpu: "1m", memory: "1Mi" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: `${serviceAccount}-trial-` },
    spec: {
      serviceAccountName: serviceAccount,
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          name: "trial",
          image: "registry.invalid/never-pulled:1",
          resources: { requests: amounts, limits: amounts },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
}
