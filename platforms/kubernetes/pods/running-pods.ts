/** Finds pods, waits until the pods run, and explains why pods do not run. */
import type { CoreV1Event, V1Pod, V1StatefulSet } from "@kubernetes/client-node";
import { BadInput, Failure } from "../../../lib/errors";
import { poll } from "../../../lib/polling";
import type { ReportProgress } from "../../../lib/progress";
import type { KubernetesClient } from "../api/client";
import type { Plain } from "../api/plain";
import { copiedSet, findCopy } from "../volumes/statefulset-copy";
import { type StatefulSetName, findStatefulSet, isOrdinalOf } from "../volumes/statefulset-volumes";
import { type PodEvidence, formatDiagnostic, resourceName, isPodRunning, diagnosePods } from "../api/pod-diagnostics";

export type Labels = Readonly<Record<string, string>>;

export const POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name";

export type PodSelection = { readonly statefulSet: string } | { readonly labels: Labels };

interface ExpectedPods {
  readonly namespace: string;
  readonly labels: Labels;
  readonly count: number;
  /** Name of the container that must run. @default each pod's first container */
  readonly container?: string | undefined;
  /** Advice for the user if pods cannot be scheduled, other than to add machines. */
  readonly otherwise?: string | undefined;
}

export interface PodWaitOptions {
  /** Time limit for pods to run, milliseconds. @default 300000 */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly report?: ReportProgress | undefined;
}

export const POD_TIMEOUT_MS = 300_000;
const POLL_MS = 500;
const EXPLAIN_MS = 2_000;
/** Before that a problem is ignored, because the caches of the API server may be outdated. */
const PATIENCE_MS = 20_000;
const LAST_LINES = 5;
const NO_LOG = /^(unable to retrieve container logs|failed to try resolving symlinks)/;

export class PodsNotRunning extends Failure {}

/** Those by which a StatefulSet selects its pods. @throws BadInput without it or a copy, or if it selects by more */
export async function readPodLabels(
  kubernetes: KubernetesClient,
  namespace: string,
  selection: PodSelection,
): Promise<Labels> {
  if ("labels" in selection) return selection.labels;
  const name = selection.statefulSet;
  const set = await findStatefulSetOrCopy(kubernetes, { namespace, statefulSet: name });
  if (set === undefined)
    throw BadInput.of(
      name,
      "no-statefulset",
      `namespace ${namespace} of context ${kubernetes.context} has no StatefulSet of this name`,
    );
  const labels = set.spec?.selector.matchLabels;
  if (labels === undefined || (set.spec?.selector.matchExpressions ?? []).length > 0)
    throw BadInput.of(name, "selector-with-expressions", "its selector has expressions; name the labels of its pods");
  return labels;
}

/** The StatefulSet, or its copy if the StatefulSet has been deleted and its pods still run. */
async function findStatefulSetOrCopy(
  kubernetes: KubernetesClient,
  set: StatefulSetName,
): Promise<Plain<V1StatefulSet> | undefined> {
  const found = await findStatefulSet(kubernetes, set);
  if (found !== undefined) return found;
  const copy = await findCopy(kubernetes, set);
  return copy && copiedSet(copy);
}

/** Pods count even if they are not ready, or if the StatefulSet was deleted. */
export async function runningServers(
  kubernetes: KubernetesClient,
  { namespace, statefulSet, container }: StatefulSetName & { readonly container: string },
): Promise<string[]> {
  const pods = await listPods(kubernetes, namespace, "");
  return pods
    .filter((pod) => isPodRunning(pod, container) && isOrdinalOf(resourceName(pod), statefulSet))
    .map(resourceName);
}

export class PodWatch {
  readonly #began = Date.now();
  readonly #timeoutMs: number;
  readonly #selector: string;
  #explainAt = this.#began + EXPLAIN_MS;
  readonly #stuckSince = new Map<string, number>();

  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly wanted: ExpectedPods,
    private readonly waiting: PodWaitOptions,
  ) {
    this.#timeoutMs = waiting.timeoutMs ?? POD_TIMEOUT_MS;
    this.#selector = formatLabelSelector(wanted.labels);
  }

  /** `run`: whether all planned pods run. @throws PodsNotRunning in time, or if waiting cannot help */
  async poll(): Promise<{ readonly pods: readonly V1Pod[]; readonly run: boolean }> {
    const { count, container, namespace } = this.wanted;
    this.waiting.signal?.throwIfAborted();
    const pods = await listPods(this.kubernetes, namespace, this.#selector);
    const running = pods.filter((pod) => isPodRunning(pod, container)).length;
    if (running === count && pods.length === count) return { pods, run: true };
    const late = Date.now() - this.#began > this.#timeoutMs;
    if (late || Date.now() > this.#explainAt)
      await this.#explain(pods, `${running} of ${count} pods run in namespace ${namespace} (${this.#selector})`, late);
    return { pods, run: false };
  }

  async #explain(pods: readonly V1Pod[], summary: string, late: boolean): Promise<void> {
    const troubles = diagnosePods(await collectPodEvidence(this.kubernetes, this.wanted, pods));
    const now = Date.now();
    this.#explainAt = now + EXPLAIN_MS;
    const stuck = new Set(troubles.filter(({ permanent }) => permanent).map(({ cause }) => cause));
    for (const what of [...this.#stuckSince.keys()]) if (!stuck.has(what)) this.#stuckSince.delete(what);
    for (const what of stuck) if (!this.#stuckSince.has(what)) this.#stuckSince.set(what, now);
    const hopeless = [...this.#stuckSince.values()].some((since) => now - since > PATIENCE_MS);
    if (late || hopeless) {
      const why = troubles.map(formatDiagnostic).join("; ") || "there are more pods than expected";
      throw new PodsNotRunning(`${summary} after ${Math.round((now - this.#began) / 1000)} s: ${why}`);
    }
    this.waiting.report?.(`${summary}${troubles[0] === undefined ? "" : `; ${formatDiagnostic(troubles[0])}`}`, true);
  }
}

export async function awaitPods(
  kubernetes: KubernetesClient,
  wanted: ExpectedPods,
  waiting: PodWaitOptions = {},
): Promise<readonly V1Pod[]> {
  const watch = new PodWatch(kubernetes, wanted, waiting);
  const running = await poll(
    async () => {
      const { pods, run } = await watch.poll();
      return run ? pods : undefined;
    },
    { intervalMs: POLL_MS, signal: waiting.signal },
  );
  // `running` is always defined here, because the watch throws when the time limit has passed.
  return running ?? [];
}

export function formatLabelSelector(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}

/** Pods that are being deleted are left out. */
export async function listPods(
  kubernetes: KubernetesClient,
  namespace: string,
  labelSelector: string,
): Promise<V1Pod[]> {
  const pods = await listAllPods(kubernetes, namespace, labelSelector);
  return pods.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

export async function listAllPods(
  kubernetes: KubernetesClient,
  namespace: string,
  labelSelector: string,
): Promise<V1Pod[]> {
  const { items } = await kubernetes.call(
    `reading the pods of namespace ${namespace}`,
    kubernetes.core.listNamespacedPod({ namespace, labelSelector }),
  );
  return items.sort((a, b) => resourceName(a).localeCompare(resourceName(b), "en", { numeric: true }));
}

export async function collectPodEvidence(
  kubernetes: KubernetesClient,
  { namespace, labels, count, otherwise }: ExpectedPods,
  pods: readonly V1Pod[],
): Promise<PodEvidence> {
  const claimNames = new Set(
    pods.flatMap(({ spec }) =>
      (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []),
    ),
  );
  const { core, apps, storage } = kubernetes;
  const unread = { items: [] };
  const [claims, events, sets, classes, lastWords] = await Promise.all([
    claimNames.size === 0 ? unread : core.listNamespacedPersistentVolumeClaim({ namespace }).catch(() => unread),
    core.listNamespacedEvent({ namespace }).catch(() => unread),
    apps.listNamespacedStatefulSet({ namespace }).catch(() => unread),
    claimNames.size === 0 ? undefined : storage.listStorageClass().catch(() => undefined),
    readLastWords(kubernetes, namespace, pods),
  ]);
  const makers = sets.items
    .filter(({ spec }) => matches(spec?.template.metadata?.labels ?? {}, labels))
    .map(resourceName);
  const owners = pods.flatMap(({ metadata }) => metadata?.ownerReferences?.map(({ name }) => name) ?? []);
  const names = new Set([...pods.map(resourceName), ...claimNames, ...makers, ...owners, ...jobIn(labels)]);
  return {
    namespace,
    wanted: count,
    otherwise,
    pods,
    claims: claims.items.filter((claim) => claimNames.has(resourceName(claim))),
    events: inOrder(events.items.filter(({ involvedObject }) => names.has(involvedObject.name ?? ""))),
    storageClasses: classes?.items.map(resourceName),
    lastWords,
  };
}

function matches(labels: Labels, selector: Labels): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

/** Known even if the Job could not create a pod. Empty if the labels do not name a Job. */
function jobIn(labels: Labels): string[] {
  const job = labels["batch.kubernetes.io/job-name"];
  return job === undefined ? [] : [job];
}

function inOrder(events: readonly CoreV1Event[]): CoreV1Event[] {
  const at = ({ lastTimestamp, eventTime, metadata }: CoreV1Event): number =>
    new Date(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? 0).getTime();
  return [...events].sort((a, b) => at(a) - at(b));
}

async function readLastWords(
  kubernetes: KubernetesClient,
  namespace: string,
  pods: readonly V1Pod[],
): Promise<Map<string, string>> {
  const ended = pods.flatMap((pod) => {
    const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
    const container = statuses.find(
      ({ restartCount, state }) => restartCount > 0 && state?.running === undefined,
    )?.name;
    return container === undefined ? [] : [{ name: resourceName(pod), container }];
  });
  const words = ended.slice(0, 3).map(async ({ name, container }) => {
    const log = await kubernetes.core
      .readNamespacedPodLog({ namespace, name, container, previous: true, tailLines: LAST_LINES })
      .catch(() => "");
    return [name, NO_LOG.test(log) ? "" : log] as const;
  });
  return new Map(await Promise.all(words));
}

export async function readStartLine(
  kubernetes: KubernetesClient,
  { namespace, pod, container }: { namespace: string; pod: string; container: string | undefined },
): Promise<string | undefined> {
  const log = await kubernetes.core
    .readNamespacedPodLog({ namespace, name: pod, ...(container && { container }), tailLines: 1 })
    .catch(() => "");
  return /^start-\w+: (.*)/.exec(log)?.[1];
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: "Exists" | "Equal";
  readonly value?: string;
  readonly effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}
