import type { V1ObjectReference } from "@kubernetes/client-node";
import type { KubernetesClient } from "./client";

export interface EventText {
  /** One word in CamelCase, such as `Repaired`. */
  readonly reason: string;
  readonly message: string;
  readonly isWarning: boolean;
}

/** Longest message that the API server accepts, characters. */
const LONGEST_MESSAGE = 1024;

export async function createEvent(
  kubernetes: KubernetesClient,
  about: V1ObjectReference & { readonly namespace: string },
  component: string,
  { reason, message, isWarning }: EventText,
): Promise<void> {
  const { namespace } = about;
  const now = new Date();
  const body = {
    metadata: { generateName: `${about.name ?? component}.`, namespace },
    involvedObject: about,
    reason,
    message: message.slice(0, LONGEST_MESSAGE),
    type: isWarning ? "Warning" : "Normal",
    source: { component },
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
  };
  await kubernetes.call(
    `creating an Event in namespace ${namespace}`,
    kubernetes.core.createNamespacedEvent({ namespace, body }),
  );
}
