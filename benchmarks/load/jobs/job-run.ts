/** One Job from its beginning to its end: its objects made, its runners gathered, let go together, heard and removed. */
import type { V1ConfigMap, V1Job, V1Pod, V1Secret } from "@kubernetes/client-node";
import { LoadGeneratorFailure } from "../load-runner";
import type { PrimaryNode } from "../../workloads/prefill";
import type { KubernetesClient } from "../../../platforms/kubernetes/client";
import type { JobObjects } from "./benchmark-job";
import type { JobPhase } from "./load-generator";
import { resourceName } from "../../../platforms/kubernetes/pod-diagnostics";
import type { Plain } from "../../../platforms/kubernetes/plain";
import type { PodWaitOptions } from "../../../platforms/kubernetes/pods";
import { formatLabelSelector, listPods, pause, PodWatch } from "../../../platforms/kubernetes/pods";
import type { RunnerRecord } from "./runner-record";
import { parseRunnerRecord } from "./runner-record";
import type { RunnerKeys } from "./runner-script";

/** Between looks at who has arrived: a question to the server under test, so none while it is measured. */
const ARRIVAL_POLL_MS = 50;
/** Between looks at the pods. */
const POD_POLL_MS = 1_000;
/** Runners on busy machines take so long to hand over their records, seconds. */
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

  /** Makes the objects and waits until every runner is there. */
  async start(otherwise: string): Promise<void> {
    const list = Array.from({ length: this.#runners }, (_, index) => String(index));
    const { connection } = this.primary;
    await Promise.all(this.phases.map((_, index) => connection.rpush(this.keys.ready(index + 1), ...list)));
    await createJob(this.kubernetes, this.objects);
    const wanted = { namespace: this.#namespace, labels: this.#labels, count: this.#runners, otherwise };
    const watch = new PodWatch(this.kubernetes, wanted, this.waiting);
    let lookAt = 0;
    while (!(await this.#arrived(1))) {
      if (Date.now() > lookAt) {
        const { pods } = await watch.poll();
        refuseFailed(pods);
        lookAt = Date.now() + POD_POLL_MS / 4;
      }
      await pause(ARRIVAL_POLL_MS, this.waiting.signal);
    }
  }

  /**
   * Lets all runners go at once and waits for the last to be done.
   * @returns when they were let go, milliseconds since the epoch
   * @throws ToolFailure when a runner fails or does not end
   */
  async runPhase(phase: number): Promise<number> {
    const { connection } = this.primary;
    const sent = Date.now();
    await connection.rename(this.keys.ready(phase), this.keys.go(phase));
    const begunMs = (sent + Date.now()) / 2;
    const told = this.phases[phase - 1];
    if (told === undefined) throw new Error(`there is no phase ${phase}`);
    const seconds = told.timeoutSeconds + HANDOVER_SECONDS;
    if (told.seconds !== undefined) await this.#untroubled(told.seconds * 1000);
    let lookAt = Date.now() + POD_POLL_MS;
    while (!(await this.#arrived(phase + 1))) {
      if (Date.now() > lookAt) {
        refuseFailed(await this.#pods());
        lookAt = Date.now() + POD_POLL_MS;
      }
      if (Date.now() > sent + seconds * 1000)
        throw new LoadGeneratorFailure(`${this.program} is still running after ${seconds} s and was ended`, "", {
          hung: true,
        });
      await pause(told.seconds !== undefined ? ARRIVAL_POLL_MS : POD_POLL_MS / 4, this.waiting.signal);
    }
    return begunMs;
  }

  /** What the runners report, and the machines they are on, both by runner. */
  async read(): Promise<{ readonly records: readonly RunnerRecord[]; readonly machines: readonly string[] }> {
    const texts = await Promise.all(
      Array.from({ length: this.#runners }, (_, index) => this.primary.connection.get(this.keys.record(index))),
    );
    const machines = new Map((await this.#pods()).map((pod) => [indexOf(pod), pod.spec?.nodeName ?? ""]));
    return {
      records: texts.map((text) => parseRunnerRecord(text ?? "")),
      machines: texts.map((_, index) => machines.get(index) ?? ""),
    };
  }

  /** Removes everything the run made, also where it made only some of it. Never throws. */
  async remove(): Promise<void> {
    const { batch, core } = this.kubernetes;
    const at = { namespace: this.#namespace, name: this.#name };
    const numbers = this.phases.flatMap((_, index) => index + 1);
    const runners = Array.from({ length: this.#runners }, (_, index) => index);
    const keys = [
      ...[...numbers, this.phases.length + 1].map(this.keys.arrived),
      ...numbers.flatMap((phase) => [this.keys.ready(phase), this.keys.go(phase)]),
      ...runners.map(this.keys.record),
    ];
    await Promise.allSettled([
      batch.deleteNamespacedJob({ ...at, propagationPolicy: "Background" }),
      this.objects.secret === undefined ? undefined : core.deleteNamespacedSecret(at),
      this.objects.files === undefined ? undefined : core.deleteNamespacedConfigMap(at),
      this.primary.connection.unlink(...keys),
    ]);
  }

  get #labels(): Readonly<Record<string, string>> {
    return { "batch.kubernetes.io/job-name": this.#name };
  }

  #pods(): Promise<V1Pod[]> {
    return listPods(this.kubernetes, this.#namespace, formatLabelSelector(this.#labels));
  }

  /** By a command that tells a length and counts as neither hit nor miss, for hits are counted meanwhile. */
  async #arrived(phase: number): Promise<boolean> {
    return (await this.primary.connection.setrange(this.keys.arrived(phase), 0, "")) === this.#runners;
  }

  /** Looks at the pods now and then and at nothing else, for the servers are being measured. */
  async #untroubled(milliseconds: number): Promise<void> {
    const until = Date.now() + milliseconds;
    for (let left = milliseconds; left > 0; left = until - Date.now()) {
      await pause(Math.min(left, POD_POLL_MS), this.waiting.signal);
      if (left > POD_POLL_MS) refuseFailed(await this.#pods());
    }
  }
}

/**
 * Runs a Job of one pod.
 * @returns the message its container leaves
 */
export async function runFeaturesJob(
  kubernetes: KubernetesClient,
  job: Plain<V1Job>,
  otherwise: string,
  waiting: PodWaitOptions,
): Promise<string> {
  const namespace = job.metadata?.namespace ?? "";
  const name = job.metadata?.name ?? "";
  const labels = { "batch.kubernetes.io/job-name": name };
  try {
    await createJob(kubernetes, { job, secret: undefined, files: undefined });
    const watch = new PodWatch(kubernetes, { namespace, labels, count: 1, otherwise }, waiting);
    for (;;) {
      const { pods } = await watch.poll();
      refuseFailed(pods);
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

/** What a Job takes belongs to it, so that it goes when the Job does, whoever removes that: the Job is there first, and waits. */
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

/** @throws ToolFailure naming every runner whose container ended with an error */
function refuseFailed(pods: readonly V1Pod[]): void {
  const failed = pods.flatMap((pod) => {
    const ends = (pod.status?.containerStatuses ?? []).flatMap(({ state }) => state?.terminated ?? []);
    const ended = ends.find(({ exitCode }) => exitCode !== 0);
    if (ended === undefined && pod.status?.phase !== "Failed") return [];
    const why =
      ended === undefined
        ? (pod.status?.message ?? pod.status?.reason)
        : `${ended.reason === "OOMKilled" ? "its memory limit is too small" : `exit status ${ended.exitCode}`}${ended.message === undefined ? "" : `, ${ended.message.trim()}`}`;
    return [
      {
        who: `runner ${indexOf(pod) ?? "?"} on ${pod.spec?.nodeName ?? "no machine"} (${resourceName(pod)})`,
        why: why ?? "no reason given",
      },
    ];
  });
  const [first] = failed;
  if (first === undefined) return;
  const others = failed.length === 1 ? "" : `, and so did ${failed.length - 1} more`;
  throw new LoadGeneratorFailure(
    `${first.who} failed: ${first.why}${others}`,
    failed.map(({ who, why }) => `${who}: ${why}`).join("\n"),
  );
}

function indexOf(pod: V1Pod): number | undefined {
  const index = pod.metadata?.annotations?.["batch.kubernetes.io/job-completion-index"];
  return index === undefined ? undefined : Number(index);
}
