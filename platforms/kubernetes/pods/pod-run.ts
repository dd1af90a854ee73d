import type { V1Job, V1OwnerReference, V1Pod, V1PodSpec } from "@kubernetes/client-node";
import { Failure, messageOf } from "../../../lib/errors";
import { awaitCondition, pause } from "../../../lib/polling";
import type { WaitOptions } from "../../../lib/progress";
import type { KubernetesClient } from "../api/client";
import type { Plain } from "../api/plain";
import { diagnosePods, formatDiagnostic, resourceName } from "../api/pod-diagnostics";
import { type Labels, collectPodEvidence, formatLabelSelector, listAllPods } from "./running-pods";

interface PodRun {
  readonly namespace: string;
  /** Prefix of the pod's name, at most 52 characters. */
  readonly name: string;
  readonly labels: Labels;
  readonly spec: Plain<V1PodSpec>;
  /** Object with which Kubernetes removes the Job. @default none */
  readonly owner?: V1OwnerReference;
}

const POLL_MS = 250;
const EXPLAIN_MS = 2_000;
/** Before that a problem is ignored, because a registry may fail once. */
const PATIENCE_MS = 10_000;
/** Time for which requests to the API server may fail during a run, milliseconds. */
const UNREACHABLE_MS = 120_000;
/** Usually this program deletes the Job earlier, unless it is interrupted. */
const SECONDS_KEPT = 3600;

/** In a Job, which ends it even if this program is killed. @returns what it wrote @throws Failure */
export async function runPodToCompletion(
  kubernetes: KubernetesClient,
  run: PodRun,
  options: WaitOptions,
): Promise<string> {
  const { namespace } = run;
  const job = await kubernetes.call(
    `creating a Job in namespace ${namespace}`,
    kubernetes.batch.createNamespacedJob({ namespace, body: jobOf(run, options.timeoutMs) }),
  );
  const name = resourceName(job);
  try {
    return await awaitEnd(kubernetes, { namespace, job: name }, options);
  } finally {
    await kubernetes.batch
      .deleteNamespacedJob({ namespace, name, propagationPolicy: "Background" })
      .catch((error: unknown) => {
        options.report(
          `Job ${name} of namespace ${namespace} could not be deleted; it ends by itself (${messageOf(error)})`,
        );
      });
  }
}

/** Jobs that an earlier program has left. @throws Failure if a pod is not gone in time; the signal's reason */
export async function removeFormerRuns(
  kubernetes: KubernetesClient,
  { namespace, labels }: Pick<PodRun, "namespace" | "labels">,
  { timeoutMs, signal }: WaitOptions,
): Promise<void> {
  const labelSelector = formatLabelSelector(labels);
  const { items } = await kubernetes.call(
    `listing Jobs of namespace ${namespace}`,
    kubernetes.batch.listNamespacedJob({ namespace, labelSelector }),
  );
  for (const job of items)
    await kubernetes.find(
      `deleting Job ${resourceName(job)} of namespace ${namespace}`,
      kubernetes.batch.deleteNamespacedJob({ namespace, name: resourceName(job), propagationPolicy: "Background" }),
    );
  const areGone = async (): Promise<boolean> =>
    (await listAllPods(kubernetes, namespace, labelSelector)).every(
      ({ status }) => status?.phase === "Succeeded" || status?.phase === "Failed",
    );
  await awaitCondition(`the pods of an earlier run in namespace ${namespace} end`, areGone, {
    timeoutMs,
    intervalMs: POLL_MS,
    signal,
  });
}

function jobOf({ name, labels, spec, owner }: PodRun, timeoutMs: number): Plain<V1Job> {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      generateName: `${name}-`,
      labels: { ...labels },
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: Math.ceil(timeoutMs / 1000),
      ttlSecondsAfterFinished: SECONDS_KEPT,
      template: { metadata: { labels: { ...labels } }, spec: { ...spec, restartPolicy: "Never" } },
    },
  };
}

async function awaitEnd(
  kubernetes: KubernetesClient,
  { namespace, job }: { readonly namespace: string; readonly job: string },
  { timeoutMs, signal, report }: WaitOptions,
): Promise<string> {
  const labels = { "batch.kubernetes.io/job-name": job };
  const began = Date.now();
  let explainAt = began + EXPLAIN_MS;
  let stuckSince: number | undefined;
  for (;;) {
    const pods = await listPatiently(kubernetes, namespace, labels, signal);
    const result = pods.map(resultOf)[0];
    if (result !== undefined) return result;
    const now = Date.now();
    if (now > explainAt) {
      explainAt = now + EXPLAIN_MS;
      if (pods.length === 0) await checkJob(kubernetes, namespace, job);
      const troubles = diagnosePods(await collectPodEvidence(kubernetes, { namespace, labels, count: 1 }, pods));
      const [first] = troubles;
      const why = first === undefined ? "it runs" : formatDiagnostic(first);
      stuckSince = troubles.some(({ permanent }) => permanent) ? (stuckSince ?? now) : undefined;
      if (now - began > timeoutMs || (stuckSince !== undefined && now - stuckSince > PATIENCE_MS))
        throw new Failure(why);
      report(why, true);
    }
    await pause(POLL_MS, signal);
  }
}

async function checkJob(kubernetes: KubernetesClient, namespace: string, name: string): Promise<void> {
  const job = await kubernetes.find(
    `reading Job ${name} of namespace ${namespace}`,
    kubernetes.batch.readNamespacedJob({ namespace, name }),
  );
  if (job === undefined) throw new Failure(`Job ${name} of namespace ${namespace} was deleted before it ended`);
  if ((job.status?.failed ?? 0) > 0)
    throw new Failure(`the pod of Job ${name} of namespace ${namespace} was deleted before it ended`);
}

/** Repeats requests that fail, because a run may take hours and an API server may restart meanwhile. */
async function listPatiently(
  kubernetes: KubernetesClient,
  namespace: string,
  labels: Labels,
  signal: AbortSignal | undefined,
): Promise<V1Pod[]> {
  const until = Date.now() + UNREACHABLE_MS;
  for (;;) {
    try {
      return await listAllPods(kubernetes, namespace, formatLabelSelector(labels));
    } catch (error) {
      if (Date.now() > until) throw error;
      await pause(EXPLAIN_MS, signal);
    }
  }
}

function resultOf({ metadata, status }: V1Pod): string | undefined {
  const ended = status?.containerStatuses?.[0]?.state?.terminated;
  if (ended === undefined) return undefined;
  const { exitCode, message = "", reason = "" } = ended;
  const said = message.trim();
  if (exitCode === 0) return said;
  if (said !== "") throw new Failure(said);
  if (metadata?.deletionTimestamp !== undefined) throw new Failure("the pod was deleted before it ended");
  throw new Failure(`${reason === "" ? "it ended" : reason} with exit code ${exitCode}`);
}
