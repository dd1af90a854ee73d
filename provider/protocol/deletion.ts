/** The API server at which a handler deletes something, and what to do when the Kubernetes cluster is gone. */
import { Failure, messageOf } from "../../lib/errors";
import type { KubeconfigSelection } from "../../platforms/kubernetes/api/client";
import { KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { HandlerContext } from "./resource-handler";

/** By which Pulumi's Kubernetes provider is told the same of its objects. */
const GONE = "PULUMI_K8S_DELETE_UNREACHABLE";

/**
 * @param what what is to be deleted, for messages
 * @returns undefined when the cluster cannot be reached and is said to be gone: then nothing is left to delete
 * @throws Failure with the way to say so
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
      throw new Failure(`${what}: ${messageOf(error)}. If the Kubernetes cluster is gone for good, set ${GONE}=true`, {
        cause: error,
      });
    report(`${what}: not deleted, because the Kubernetes cluster cannot be reached (${messageOf(error)})`);
    return undefined;
  }
}
