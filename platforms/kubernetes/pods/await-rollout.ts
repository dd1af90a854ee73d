/** `nextRestart` in `operations/changes/primary-moves.ts` decides in which order pods restart. */
import type { V1Pod, V1StatefulSet } from "@kubernetes/client-node";
import { BadInput, Failure } from "../../../lib/errors";
import { pause } from "../../../lib/polling";
import { listNames } from "../../../valkey/verification/violations";
import type { KubernetesClient } from "../api/client";
import { lastWarningEvent, resourceName, isPodRunning } from "../api/pod-diagnostics";
import type { PodWaitOptions } from "./running-pods";
import {
  collectPodEvidence,
  formatLabelSelector,
  listPods,
  POD_TIMEOUT_MS,
  PodWatch,
  readPodLabels,
} from "./running-pods";

export interface RolloutPlan {
  readonly namespace: string;
  readonly statefulSet: string;
  readonly nodes: number;
  readonly container: string;
  /** Whether all pods are replaced at the same time. @default false: one after the other */
  readonly atOnce?: boolean | undefined;
  readonly repair?: RepairStep | undefined;
  readonly restartNext?: RestartNext | undefined;
}

export interface OutdatedPod {
  readonly name: string;
  readonly ready: boolean;
}

/** Called while all pods with the newest template are ready. @returns undefined to be called again later */
export type RestartNext = (outdated: readonly OutdatedPod[]) => Promise<string | undefined>;

/** @param pods without those being deleted @param run whether all planned pods run @returns what the step waits for */
export type RepairStep = (pods: readonly V1Pod[], run: boolean) => Promise<string | undefined>;

const POLL_MS = 500;
const EXPLAIN_MS = 2_000;
const REVISION = "controller-revision-hash";

/** @throws BadInput without the StatefulSet; Failure with the reason, in time or for a permanent problem */
export async function awaitRollout(
  kubernetes: KubernetesClient,
  plan: RolloutPlan,
  waiting: PodWaitOptions = {},
): Promise<void> {
  const { namespace, statefulSet, nodes, container } = plan;
  const began = Date.now();
  const timeoutMs = waiting.timeoutMs ?? POD_TIMEOUT_MS;
  const wanted = {
    namespace,
    labels: await readPodLabels(kubernetes, namespace, { statefulSet }),
    count: nodes,
    container,
  };
  const watch = new PodWatch(kubernetes, wanted, waiting);
  let explainAt = began + EXPLAIN_MS;
  for (;;) {
    const set = await readSet(kubernetes, plan);
    const { pods, run } = await watch.poll();
    if (isSettled(set, pods, plan) && strategyOf(set) === strategyAtRest(plan)) return;
    const stuck = await release(kubernetes, plan, set, pods);
    if (!stuck && run) await restart(kubernetes, plan, set, pods);
    const unrepaired = await plan.repair?.(pods, run);
    const explain = async (): Promise<string> => unrepaired ?? describe(set, pods);
    if (run) {
      const now = Date.now();
      if (now - began > timeoutMs) throw new Failure(`after ${Math.round((now - began) / 1000)} s: ${await explain()}`);
      if (waiting.report !== undefined && now > explainAt) {
        waiting.report(await explain(), true);
        explainAt = Date.now() + EXPLAIN_MS;
      }
    }
    await pause(POLL_MS, waiting.signal);
  }

  async function describe(set: V1StatefulSet, pods: readonly V1Pod[]): Promise<string> {
    const unready = pods.filter((pod) => !isPodReady(pod));
    if (unready.length === 0)
      return `pods that have not restarted yet: ${listNames(pods.filter((pod) => !isCurrent(set, pod)).map(resourceName))}`;
    const { events } = await collectPodEvidence(kubernetes, wanted, pods);
    const why = unready.flatMap((pod) => lastWarningEvent(events, resourceName(pod)) ?? [])[0];
    return `pods that run but are not ready: ${listNames(unready.map(resourceName))}${why === undefined ? "" : ` (${why})`}`;
  }
}

export async function outdatedPods(
  kubernetes: KubernetesClient,
  plan: Pick<RolloutPlan, "namespace" | "statefulSet">,
): Promise<string[]> {
  const set = await readSet(kubernetes, plan);
  const labels = await readPodLabels(kubernetes, plan.namespace, { statefulSet: plan.statefulSet });
  const pods = await listPods(kubernetes, plan.namespace, formatLabelSelector(labels));
  return pods.filter((pod) => !isCurrent(set, pod)).map(resourceName);
}

async function readSet(
  kubernetes: KubernetesClient,
  { namespace, statefulSet: name }: Pick<RolloutPlan, "namespace" | "statefulSet">,
): Promise<V1StatefulSet> {
  const set = await kubernetes.find(
    `reading StatefulSet ${name} of namespace ${namespace}`,
    kubernetes.apps.readNamespacedStatefulSet({ namespace, name }),
  );
  if (set === undefined)
    throw BadInput.of(name, "no-statefulset", `namespace ${namespace} has no StatefulSet of this name`);
  return set;
}

function isSettled(set: V1StatefulSet, pods: readonly V1Pod[], { nodes }: RolloutPlan): boolean {
  return isObserved(set) && pods.length === nodes && pods.every((pod) => isCurrent(set, pod) && isPodReady(pod));
}

function isObserved({ metadata, status }: V1StatefulSet): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 1);
}

function isCurrent({ status }: V1StatefulSet, { metadata }: V1Pod): boolean {
  return metadata?.labels?.[REVISION] === status?.updateRevision;
}

export function isPodReady({ metadata, status }: V1Pod): boolean {
  return (
    metadata?.deletionTimestamp === undefined &&
    (status?.conditions ?? []).some(({ type, status: is }) => type === "Ready" && is === "True")
  );
}

/**
 * Deletes pods with an old template that cannot start, or all if they change at once: a StatefulSet with ordered pods
 * waits forever for a pod that cannot start (kubernetes/kubernetes#67250). The strategy is OnDelete meanwhile: with
 * RollingUpdate, a deleted pod would get the old template until its turn.
 * @returns false when nothing is left to do
 */
async function release(
  kubernetes: KubernetesClient,
  plan: RolloutPlan,
  set: V1StatefulSet,
  pods: readonly V1Pod[],
): Promise<boolean> {
  if (!isObserved(set)) return true;
  const { container, atOnce = false } = plan;
  const stuck = pods.filter((pod) => !isCurrent(set, pod) && (atOnce || !isPodRunning(pod, container)));
  const strategy = stuck.length > 0 ? "OnDelete" : strategyAtRest(plan);
  if (strategyOf(set) !== strategy) {
    await setStrategy(kubernetes, plan, strategy);
    return true;
  }
  await Promise.all(stuck.map((pod) => replacePod(kubernetes, plan, resourceName(pod))));
  return stuck.length > 0;
}

async function restart(
  kubernetes: KubernetesClient,
  plan: RolloutPlan,
  set: V1StatefulSet,
  pods: readonly V1Pod[],
): Promise<void> {
  if (plan.restartNext === undefined || pods.length < plan.nodes) return;
  const outdated = pods.filter((pod) => !isCurrent(set, pod));
  if (outdated.length === 0 || !pods.every((pod) => !isCurrent(set, pod) || isPodReady(pod))) return;
  const next = await plan.restartNext(outdated.map((pod) => ({ name: resourceName(pod), ready: isPodReady(pod) })));
  if (next !== undefined) await replacePod(kubernetes, plan, next);
}

async function replacePod(kubernetes: KubernetesClient, { namespace }: RolloutPlan, name: string): Promise<void> {
  await kubernetes.find(
    `replacing pod ${name} of namespace ${namespace}`,
    kubernetes.core.deleteNamespacedPod({ namespace, name }),
  );
}

const strategyAtRest = ({ restartNext }: RolloutPlan): "OnDelete" | "RollingUpdate" =>
  restartNext === undefined ? "RollingUpdate" : "OnDelete";

const strategyOf = ({ spec }: V1StatefulSet): string => spec?.updateStrategy?.type ?? "RollingUpdate";

async function setStrategy(
  kubernetes: KubernetesClient,
  { namespace, statefulSet: name }: RolloutPlan,
  type: "OnDelete" | "RollingUpdate",
): Promise<void> {
  await kubernetes.call(
    `setting how StatefulSet ${name} of namespace ${namespace} is updated`,
    kubernetes.apps.patchNamespacedStatefulSet({
      namespace,
      name,
      body: [{ op: "replace", path: "/spec/updateStrategy", value: { type } }],
    }),
  );
}
