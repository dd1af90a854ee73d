/** Waits until all pods have the newest revision, and restarts pods if that is needed. */
import type { KubernetesReference } from "../../../platforms/deployment-reference";
import { openKubernetesClient, openPodDeployment } from "../../../platforms/deployment-reference";
import { areLed, designatedPod } from "../../../platforms/kubernetes/access/primary-lead";
import { type RolloutPlan, awaitRollout, outdatedPods } from "../../../platforms/kubernetes/pods/await-rollout";
import { forgetGone } from "../../../valkey/sentinel/form-sentinels";
import { nodeCount } from "../../../valkey/topology/placement";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { EmptyNodeRepair } from "../../changes/empty-nodes";
import { isLed, PrimaryMoves } from "../../changes/primary-moves";
import { waitOptions } from "../../protocol/waiting";
import type { StorageRequest } from "../../changes/volume-refusals";

export interface PodRolloutInputs {
  readonly target: KubernetesReference;
  readonly password: string;
  /** Checksum that changes with the pod template. */
  readonly revision: string;
  /** A change of the volume needs a new StatefulSet, which takes over the pods. */
  readonly storage: StorageRequest;
  /** A change that restarts pods gets one more minute for each pod. */
  readonly timeoutSeconds: number;
}

/** The pod hands over its slots, stops, starts, catches up, and becomes ready. */
const SECONDS_PER_RESTART = 60;

export interface PodRolloutOutputs {
  /** Time when the roll-out was complete, ISO 8601; undefined in a state of an earlier version of this package. */
  readonly rolledOutAt?: string | undefined;
  /** A refresh, which changes nothing, found outdated pods, or Services that do not route to the designated primary. */
  readonly unfinished?: true | undefined;
}

/** @param before references of the last successful and of failed updates, whose templates running pods may have */
async function rollOut(
  inputs: PodRolloutInputs,
  timeoutSeconds: number,
  context: HandlerContext,
  before: readonly KubernetesReference[] = [],
): Promise<PodRolloutOutputs> {
  const { target, password, storage } = inputs;
  const { name, namespace, statefulSet, container, shape } = target;
  const kubernetes = await openKubernetesClient(target);
  const options = waitOptions(name, timeoutSeconds, context);
  const former = before.length === 0 ? [target] : before;
  const lost = {
    target,
    password,
    template: storage.template,
    formerZones: [...new Set(former.flatMap(({ zones }) => zones))],
  };
  // In a new deployment, no node can have lost its data.
  const { step: repair } = new EmptyNodeRepair(kubernetes, lost, options, (event) => {
    context.report(`${name}: ${event}`);
  });
  // Only in replication mode does the Service lead to a designated primary.
  const moves = isLed(target) ? new PrimaryMoves(kubernetes, target, password, options) : undefined;
  if (before.length > 0) await moves?.settle();
  const restartNext = target.sentinel === undefined ? moves?.restartNext : undefined;
  // Nodes with TLS cannot talk to nodes without TLS, so all restart at once: see `tls-check.ts`.
  const atOnce = former.some(({ tls }) => (tls === undefined) !== (target.tls === undefined));
  const nodes = nodeCount(shape);
  const plan: RolloutPlan = { namespace, statefulSet, container, nodes, atOnce, repair, restartNext };
  await awaitRollout(kubernetes, plan, options);
  if (target.sentinel !== undefined && before.length > 0) {
    const { sentinels, ...deployment } = await openPodDeployment(kubernetes, target, password, options);
    // There may be fewer pods or Sentinels than before, so Sentinels must forget pods and Sentinels that are gone.
    if (sentinels !== undefined) await forgetGone(deployment, sentinels, options);
  }
  return { rolledOutAt: new Date().toISOString() };
}

/**
 * Rolls out the pods. After a failure, some pods have the former template and other pods have the new template. All
 * pods have their data and are part of the deployment. The StatefulSet waits before it restarts the next pod. If the
 * program was killed while a primary handed over, clients cannot write for some minutes (docs/failures.md). Some
 * Sentinels may have forgotten nodes that are gone, and others may not. The next update brings all pods to the template
 * of that update, even if it is the former template.
 */
export const handler: ResourceHandler<PodRolloutInputs, PodRolloutOutputs> = {
  create: async (inputs, context) => {
    const outputs = await rollOut(inputs, inputs.timeoutSeconds, context);
    return { id: inputs.target.name, outputs };
  },
  recordsAttempts: true,
  // After a killed update the Kubernetes cluster has the template of that update, but the state has no attempt. So a
  // refresh looks for that template.
  read: async (_id, { target, rolledOutAt, unfinished }) => {
    if (!isLed(target)) return { rolledOutAt };
    try {
      const kubernetes = await openKubernetesClient(target);
      const designated = await designatedPod(kubernetes, target);
      const isDone =
        (designated === undefined || (await areLed(kubernetes, target, designated))) &&
        (target.sentinel !== undefined || (await outdatedPods(kubernetes, target)).length === 0);
      return { rolledOutAt, ...(isDone ? {} : { unfinished: true }) };
    } catch {
      // DeploymentVerification reports nodes that do not answer. Drift that an earlier refresh found may still exist.
      return { rolledOutAt, unfinished };
    }
  },
  drifted: ({ unfinished }) => unfinished === true,
  update: (_id, olds, news, context, attempts = []) => {
    const restarts = nodeCount(news.target.shape) * SECONDS_PER_RESTART;
    const targets = [olds, ...attempts].map(({ target }) => target);
    return rollOut(news, news.timeoutSeconds + restarts, context, targets);
  },
  describeChange: (olds, { target, revision }) =>
    target === undefined || revision === undefined || revision === olds.revision
      ? []
      : (target.tls === undefined) !== (olds.target.tls === undefined)
        ? [`${nodeCount(target.shape)} nodes restart at once; clients are cut off until the nodes run again`]
        : [describeRestarts(target)],
};

/** Measured seconds for the restart of one node (docs/findings.md), without pulls of images and loading of data. */
const USUAL_SECONDS = { cluster: 12, watched: 12, replication: 6 } as const;

function describeRestarts(target: KubernetesReference): string {
  const nodes = nodeCount(target.shape);
  const seconds = nodes * USUAL_SECONDS[target.sentinel === undefined ? target.mode : "watched"];
  return `${nodes} nodes restart, one after the other, in about ${seconds} s, longer with much data; ${effectOfRestarts(target)}`;
}

function effectOfRestarts({ mode, shape }: KubernetesReference): string {
  if (mode === "cluster") return "a primary hands its slots over before it stops";
  if (shape.replicasPerPrimary === 0) return "clients cannot write while the primary restarts";
  return "a replica takes over before the primary stops";
}
