/** A pod reads the archive before servers exist, because Pulumi's machine may not reach the bucket. */
import type { V1PodSpec } from "@kubernetes/client-node";
import { Failure, messageOf } from "../../../lib/errors";
import { type KubernetesReference, openKubernetesClient } from "../../../platforms/deployment-reference";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { runPodToCompletion } from "../../../platforms/kubernetes/pods/pod-run";
import { restoreOwner } from "../../../platforms/kubernetes/pods/restore-record";
import { findStatefulSet } from "../../../platforms/kubernetes/volumes/statefulset-volumes";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { waitOptions } from "../../protocol/waiting";

export interface ArchiveCheckInputs {
  readonly target: KubernetesReference;
  /** The archive, the time and the keys to restore, as text for messages. */
  readonly source: string;
  readonly pod: object;
  /** Labels of the pod, by which network policies select it. */
  readonly labels: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
}

/** @throws Failure with the reason why the archive cannot be restored */
async function check(inputs: ArchiveCheckInputs, context: HandlerContext): Promise<void> {
  const { target, source, pod, labels, timeoutSeconds } = inputs;
  const { name, namespace } = target;
  const kubernetes = await openKubernetesClient(target);
  // `Restore` decides about servers that exist.
  if ((await findStatefulSet(kubernetes, target)) !== undefined) return;
  const owner = await restoreOwner(kubernetes, target);
  const run = { namespace, name: `${name}-restore`, labels, owner, spec: pod as Plain<V1PodSpec> };
  try {
    const found = await runPodToCompletion(kubernetes, run, waitOptions(name, timeoutSeconds, context));
    context.report(`${name}: ${source} can be restored: ${found}`);
  } catch (error) {
    context.signal.throwIfAborted();
    throw new Failure(`${name}: ${source} cannot be restored, so no server was created: ${messageOf(error)}`);
  }
}

export const handler: ResourceHandler<ArchiveCheckInputs, object> = {
  silentInputs: ["target", "pod", "labels", "timeoutSeconds"],
  create: async (inputs, context) => {
    await check(inputs, context);
    return { id: inputs.target.name, outputs: {} };
  },
  update: async (_id, olds, news, context) => {
    if (olds.source !== news.source) await check(news, context);
    return {};
  },
};
