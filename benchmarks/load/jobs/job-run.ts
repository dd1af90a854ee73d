import type { V1ConfigMap, V1Job, V1Pod, V1Secret } from "@kubernetes/client-node";
import { LoadGeneratorFailure } from "../load-driver";
import type { PrimaryNode } from "../../workloads/prefill";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import type { JobObjects } from "./benchmark-job";
import type { JobPhase } from "./job-plan";
import type { PlacedContainer } from "../../../platforms/kubernetes/cluster/machine-settings";
import { resourceName } from "../../../platforms/kubernetes/api/pod-diagnostics";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import {
  type PodWaitOptions,
  formatLabelSelector,
  listAllPods,
  PodWatch,
} from "../../../platforms/kubernetes/pods/running-pods";
import { holdsInTime, pause } from "../../../lib/polling";
import { type RunnerRecord, parseRunnerRecord } from "./runner-record";
import type { RunnerKeys } from "./runner-script";
import { compact } from "../../../lib/compact";

/** The queries go to the server under test, so they are sent only before and after a measurement. Milliseconds. */
const ARRIVAL_POLL_MS = 50;
const POD_POLL_MS = 1_000;
const STOP_SECONDS = 30;
/** Seconds within which runners must have written their records, even on busy machines. */
const HANDOVER_SECONDS = 30;

export class JobRun {
  readonly #name: string;
  readonly #namespace: string;
  readonly #runners: number;

  constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly objects: JobObjects,
    private readonly keys: RunnerKeys,
    private readonly primary: PrimaryNode,
    private readonly phases: readonly JobPhase[],
    private readonly program: string,
    private readonly waiting: PodWaitOptions,
  ) {
    const { metadata, spec } = objects.job;
    this.#name = metadata?.name ?? "";
    this.#namespace = metadata?.namespace ?? "";
    this.#runners = spec?.completions ?? 1;
  }

  async start(advice: string): Promise<void> {
    const list = Array.from({ length: this.#runners }, (_, index) => String(index));
    const { connection } = this.primary;
    await Promise.all(this.phases.map((_, index) => connection.rpush(this.keys.ready(index + 1), ...list)));
    await createJob(this.kubernetes, this.objects);
    const wanted = { namespace: this.#namespace, labels: this.#labels, count: this.#runners, otherwise: advice };
    const watch = new PodWatch(this.kubernetes, wanted, this.waiting);
    let pollAt = 0;
    while (!(await this.#arrived(1))) {
      if (Date.now() > pollAt) {
        await watch.poll();
        assertRunnersWork(await this.#pods());
        pollAt = Date.now() + POD_POLL_MS / 4;
      }
      await pause(ARRIVAL_POLL_MS, this.waiting.signal);
    }
  }

  /** @param phase number of the phase, from 1 @returns the time of the start, milliseconds since the epoch */
  async runPhase(phase: number): Promise<number> {
    const { connection } = this.primary;
    const sent = Date.now();
    await connection.rename(this.keys.ready(phase), this.keys.go(phase));
    const begunMs = (sent + Date.now()) / 2;
    const plan = this.phases[phase - 1];
    if (plan === undefined) throw new Error(`there is no phase ${phase}`);
    const seconds = plan.timeoutSeconds + HANDOVER_SECONDS;
    if (plan.seconds !== undefined) await this.#watchPods(plan.seconds * 1000);
    let pollAt = Date.now() + POD_POLL_MS;
    while (!(await this.#arrived(phase + 1))) {
      if (Date.now() > pollAt) {
        assertRunnersWork(await this.#pods(), this.#runners);
        pollAt = Date.now() + POD_POLL_MS;
      }
      if (Date.now() > sent + seconds * 1000)
        throw new LoadGeneratorFailure(
          `${this.program} was killed because it was still running after ${seconds} s`,
          "",
          { hung: true },
        );
      await pause(plan.seconds !== undefined ? ARRIVAL_POLL_MS : POD_POLL_MS / 4, this.waiting.signal);
    }
    return begunMs;
  }

  async containers(): Promise<readonly PlacedContainer[]> {
    const pods = (await this.#pods()).filter((pod) => !hasEnded(pod));
    return pods.map((pod) => ({
      namespace: this.#namespace,
      pod: resourceName(pod),
      container: pod.spec?.containers[0]?.name ?? "",
      machine: pod.spec?.nodeName ?? "",
    }));
  }

  async read(): Promise<{ readonly records: readonly RunnerRecord[]; readonly machines: readonly string[] }> {
    const texts = await Promise.all(
      Array.from({ length: this.#runners }, (_, index) => this.primary.connection.get(this.keys.record(index))),
    );
    const machines = new Map((await this.#pods()).map((pod) => [runnerIndex(pod), pod.spec?.nodeName ?? ""]));
    return {
      records: texts.map((text) => parseRunnerRecord(text ?? "")),
      machines: texts.map((_, index) => machines.get(index) ?? ""),
    };
  }

  /** The function never throws. */
  async remove(): Promise<void> {
    const { batch, core } = this.kubernetes;
    const at = { namespace: this.#namespace, name: this.#name };
    await Promise.allSettled([
      batch.deleteNamespacedJob({ ...at, propagationPolicy: "Background" }),
      this.objects.secret === undefined ? undefined : core.deleteNamespacedSecret(at),
      this.objects.files === undefined ? undefined : core.deleteNamespacedConfigMap(at),
      this.#removeKeys(),
    ]);
  }

  /**
   * Waits until no runner runs, so that they send no load during the next run, and removes what they have written
   * meanwhile. Ends after half a minute: a pod on a dead machine does not end. The function never throws.
   */
  async stopped(): Promise<void> {
    const isStopped = async (): Promise<boolean> => (await this.#pods().catch(() => [])).every(hasEnded);
    await holdsInTime(isStopped, { intervalMs: POD_POLL_MS / 4, timeoutMs: STOP_SECONDS * 1000 });
    await this.#removeKeys().catch(() => undefined);
  }

  async #removeKeys(): Promise<void> {
    const numbers = this.phases.map((_, index) => index + 1);
    const runners = Array.from({ length: this.#runners }, (_, index) => index);
    await this.primary.connection.unlink(
      ...[...numbers, this.phases.length + 1].map(this.keys.arrived),
      ...numbers.flatMap((phase) => [this.keys.ready(phase), this.keys.go(phase)]),
      ...runners.map(this.keys.record),
    );
  }

  get #labels(): Readonly<Record<string, string>> {
    return { "batch.kubernetes.io/job-name": this.#name };
  }

  #pods(): Promise<V1Pod[]> {
    return listAllPods(this.kubernetes, this.#namespace, formatLabelSelector(this.#labels));
  }

  /**
   * Each runner appends a byte to the phase's key. SETRANGE with an empty value returns the length and changes nothing;
   * STRLEN would change the counters of hits and misses, which the measurement reads.
   */
  async #arrived(phase: number): Promise<boolean> {
    return (await this.primary.connection.setrange(this.keys.arrived(phase), 0, "")) === this.#runners;
  }

  /** Asks only Kubernetes, because queries to the servers would disturb the measurement. */
  async #watchPods(milliseconds: number): Promise<void> {
    const until = Date.now() + milliseconds;
    for (let left = milliseconds; left > 0; left = until - Date.now()) {
      await pause(Math.min(left, POD_POLL_MS), this.waiting.signal);
      if (left > POD_POLL_MS) assertRunnersWork(await this.#pods(), this.#runners);
    }
  }
}

export async function runFeaturesJob(
  kubernetes: KubernetesClient,
  job: Plain<V1Job>,
  advice: string,
  waiting: PodWaitOptions,
): Promise<string> {
  const namespace = job.metadata?.namespace ?? "";
  const name = job.metadata?.name ?? "";
  const labels = { "batch.kubernetes.io/job-name": name };
  try {
    await createJob(kubernetes, { job, secret: undefined, files: undefined });
    const watch = new PodWatch(kubernetes, { namespace, labels, count: 1, otherwise: advice }, waiting);
    for (;;) {
      const { pods } = await watch.poll();
      assertRunnersWork(pods);
      const ended = pods[0]?.status?.containerStatuses?.[0]?.state?.terminated;
      if (ended !== undefined) return ended.message ?? "";
      await pause(POD_POLL_MS / 4, waiting.signal);
    }
  } finally {
    await Promise.allSettled([
      kubernetes.batch.deleteNamespacedJob({ namespace, name, propagationPolicy: "Background" }),
    ]);
  }
}

/** The Job owns both objects, so it must exist before them. So it is created first and starts suspended. */
async function createJob(kubernetes: KubernetesClient, { job, secret, files }: JobObjects): Promise<void> {
  const namespace = job.metadata?.namespace ?? "";
  const name = job.metadata?.name ?? "";
  const created: V1Job = await kubernetes.call(
    `creating Job ${name} in namespace ${namespace}`,
    kubernetes.batch.createNamespacedJob({ namespace, body: job }),
  );
  if (secret === undefined && files === undefined) return;
  const ownerReferences = [{ apiVersion: "batch/v1", kind: "Job", name, uid: created.metadata?.uid ?? "" }];
  if (secret !== undefined) {
    const body: Plain<V1Secret> = { ...secret, metadata: { ...secret.metadata, ownerReferences } };
    await kubernetes.call(
      `creating Secret ${name} in namespace ${namespace}`,
      kubernetes.core.createNamespacedSecret({ namespace, body }),
    );
  }
  if (files !== undefined) {
    const body: Plain<V1ConfigMap> = { ...files, metadata: { ...files.metadata, ownerReferences } };
    await kubernetes.call(
      `creating ConfigMap ${name} in namespace ${namespace}`,
      kubernetes.core.createNamespacedConfigMap({ namespace, body }),
    );
  }
  const resume = [{ op: "replace", path: "/spec/suspend", value: false }];
  await kubernetes.call(
    `starting Job ${name} in namespace ${namespace}`,
    kubernetes.batch.patchNamespacedJob({ namespace, name, body: resume }),
  );
}

type Pod = Plain<V1Pod>;

function runnerIndex(pod: Pod): number | undefined {
  const index = pod.metadata?.annotations?.["batch.kubernetes.io/job-completion-index"];
  return index === undefined ? undefined : Number(index);
}

/**
 * @param pods all pods, including pods that are being deleted
 * @param runners each missing pod counts as an interruption.
 * @default 0: missing pods are accepted
 * @throws LoadGeneratorFailure if a runner failed; with `interrupted` if a pod was evicted, deleted, or lost with its
 * machine
 */
export function assertRunnersWork(pods: readonly Pod[], runners = 0): void {
  const failed = pods.flatMap((pod) => {
    const reason = isTakenAway(pod) ? undefined : failureReason(pod);
    return reason === undefined ? [] : [{ runner: runnerName(pod), reason }];
  });
  const [first] = failed;
  if (first !== undefined) {
    const others = failed.length === 1 ? "" : `, and ${failed.length - 1} more runners failed`;
    throw new LoadGeneratorFailure(
      `${first.runner} failed: ${first.reason}${others}`,
      failed.map(({ runner, reason }) => `${runner}: ${reason}`).join("\n"),
    );
  }
  const lines = interruptions(pods, runners);
  if (lines[0] !== undefined) throw new LoadGeneratorFailure(lines[0], lines.join("\n"), { interrupted: true });
}

/** Those with a reason come first: others may be deleted only because the Job ended. The first line is the error. */
function interruptions(pods: readonly Pod[], runners: number): string[] {
  const taken = pods.filter(isTakenAway);
  const present = new Set(pods.map(runnerIndex));
  const missing = Array.from({ length: runners }, (_, index) => index).filter((index) => !present.has(index));
  const told = taken.filter((pod) => disruption(pod) !== undefined);
  return [
    ...told.map((pod) => {
      const { reason, message } = disruption(pod) ?? {};
      return `${runnerName(pod)} was interrupted: ${compact([reason, message]).join(", ") || "no reason given"}`;
    }),
    ...missing.map((index) => `runner ${index} was interrupted: its pod is gone`),
    ...taken
      .filter((pod) => !told.includes(pod))
      .map((pod) => `${runnerName(pod)} was interrupted: its pod is being deleted`),
  ];
}

function hasEnded({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

function runnerName(pod: Pod): string {
  return `runner ${runnerIndex(pod) ?? "?"} on ${pod.spec?.nodeName ?? "no machine"} (${pod.metadata?.name ?? "?"})`;
}

/** The exit status of such a pod is the status of a signal, which is not a failure of the runner. */
function isTakenAway(pod: Pod): boolean {
  return pod.metadata?.deletionTimestamp !== undefined || disruption(pod) !== undefined;
}

/** For example an eviction, a taint, the loss of its machine, or a pod with a higher priority. */
function disruption({ status }: Pod): { readonly reason?: string; readonly message?: string } | undefined {
  return status?.conditions?.find(({ type, status: state }) => type === "DisruptionTarget" && state === "True");
}

function failureReason({ status }: Pod): string | undefined {
  const ends = (status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated ?? []);
  const end = ends.find(({ exitCode }) => exitCode !== 0);
  if (end !== undefined) {
    const cause = end.reason === "OOMKilled" ? "its memory limit is too small" : `exit status ${end.exitCode}`;
    return compact([cause, end.message?.trim()]).join(", ");
  }
  return status?.phase === "Failed" ? (status.message ?? status.reason ?? "no reason given") : undefined;
}
