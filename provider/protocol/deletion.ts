/**
 * Access to the API server for handlers that delete something. The Kubernetes cluster may already have been deleted.
 */
import { Failure, messageOf } from "../../lib/errors";
import type { KubeconfigSelection } from "../../platforms/kubernetes/api/client";
import { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { HandlerContext } from "./resource-handler";

/**
 * Name of an environment variable. This variable says that an unreachable Kubernetes cluster has been deleted. Pulumi's
 * Kubernetes provider uses the same variable.
 */
const GONE = "PULUMI_K8S_DELETE_UNREACHABLE";

/**
 * Opens a client of the Kubernetes cluster for a deletion.
 * @param what name of the object to delete, for messages
 * @returns the client; undefined when the cluster cannot be reached and the environment variable says that the cluster
 * was deleted, because then nothing is left to delete
 * @throws Failure when the cluster cannot be reached; the message explains the variable
 */
export async function openForDeletion(
  selection: KubeconfigSelection,
  what: string,
  { report }: HandlerContext,
): Promise<KubernetesClient | undefined> {
  try {
    return await KubernetesClient.open(selection);
  } catch (error) {
    if (process.env[GONE] !== "true")
      throw new Failure(
        `${what}: ${messageOf(error)}. If the Kubernetes cluster is gone for good, set ${GONE}=true, so that Pulumi skips this deletion`,
        {
          cause: error,
        },
      );
    report(`${what}: not deleted, because the Kubernetes cluster cannot be reached (${messageOf(error)})`);
    return undefined;
  }
}
