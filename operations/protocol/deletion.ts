/** The Kubernetes cluster of an object to delete may already have been deleted. */
import { Failure, messageOf } from "../../lib/errors";
import { type KubeconfigSelection, KubernetesClient } from "../../platforms/kubernetes/api/client";
import type { HandlerContext } from "./resource-handler";

/** Says that an unreachable cluster has been deleted, also to Pulumi's Kubernetes provider. */
const GONE = "PULUMI_K8S_DELETE_UNREACHABLE";

/** @returns undefined if it cannot be reached and the variable says that it was deleted @throws Failure otherwise */
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
