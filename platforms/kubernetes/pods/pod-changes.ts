import type { V1Pod } from "@kubernetes/client-node";
import { messageOf } from "../../../lib/errors";
import { pause } from "../../../lib/polling";
import type { KubernetesClient } from "../api/client";
import { formatLabelSelector, readPodLabels } from "./running-pods";
import { isPodReady } from "./await-rollout";

/** It is short, because a watch can hang without an error. */
const WATCH_SECONDS = 300;
const HANGING_MS = (WATCH_SECONDS + 30) * 1000;
const REOPEN_MS = 5_000;
/** Time until a watch that could not be opened is tried again, milliseconds. */
const REFUSED_MS = 60_000;

interface WatchedSet {
  readonly namespace: string;
  readonly statefulSet: string;
}

export class PodChanges {
  readonly #known = new Map<string, string>();
  #hasChanged = false;
  #wake: (() => void) | undefined;
  #open: AbortController | undefined;
  #problem = "";

  private constructor(
    private readonly kubernetes: KubernetesClient,
    private readonly set: WatchedSet,
    private readonly log: (line: string) => void,
  ) {}

  /** The API server may be unreachable for a time. @param log called with the reason, as one line */
  static watch(
    kubernetes: KubernetesClient,
    set: WatchedSet,
    log: (line: string) => void,
    signal: AbortSignal,
  ): PodChanges {
    const changes = new PodChanges(kubernetes, set, log);
    signal.addEventListener("abort", () => changes.#open?.abort(), { once: true });
    void changes.#watch(signal);
    return changes;
  }

  /** Returns at once if there was a change since the last call, so that no change is missed. */
  async next(signal: AbortSignal): Promise<void> {
    if (!this.#hasChanged)
      await new Promise<void>((resolve) => {
        const end = (): void => {
          resolve();
        };
        this.#wake = end;
        signal.addEventListener("abort", end, { once: true });
      });
    this.#hasChanged = false;
  }

  async #watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const problem = await this.#watchOnce(signal).then(
        () => "",
        (error: unknown) => messageOf(error),
      );
      if (problem !== "" && problem !== this.#problem) this.log(`cannot watch pods: ${problem}`);
      this.#problem = problem;
      await pause(problem === "" ? REOPEN_MS : REFUSED_MS, signal).catch(() => undefined);
    }
  }

  /** @throws when the API server refuses the watch or cannot be reached */
  async #watchOnce(signal: AbortSignal): Promise<void> {
    const { namespace, statefulSet } = this.set;
    const { Watch } = await import("../api/client-library.mjs");
    const labels = await readPodLabels(this.kubernetes, namespace, { statefulSet });
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
    const query = { labelSelector: formatLabelSelector(labels), timeoutSeconds: WATCH_SECONDS };
    const see = (phase: string, pod: V1Pod): void => {
      this.#see(phase, pod);
    };
    const ended = new AbortController();
    const watching = new Promise<void>((resolve, reject) => {
      const end = (error: unknown): void => {
        if (error === null || error === undefined) resolve();
        else reject(error instanceof Error ? error : new Error(messageOf(error)));
      };
      new Watch(this.kubernetes.config).watch(path, query, see, end).then((open) => {
        this.#open = open;
        if (signal.aborted || ended.signal.aborted) open.abort();
      }, end);
    });
    const hanging = pause(HANGING_MS, AbortSignal.any([signal, ended.signal])).catch(() => undefined);
    try {
      await Promise.race([watching, hanging]);
    } finally {
      ended.abort();
      this.#open?.abort();
      this.#open = undefined;
      watching.catch(() => undefined);
    }
  }

  #see(phase: string, pod: V1Pod): void {
    const { uid = "", deletionTimestamp } = pod.metadata ?? {};
    const isGone = phase === "DELETED";
    const seen = isGone ? "" : [pod.status?.podIP, isPodReady(pod), deletionTimestamp !== undefined].join(" ");
    if (this.#known.get(uid) === seen) return;
    if (isGone) this.#known.delete(uid);
    else this.#known.set(uid, seen);
    this.#hasChanged = true;
    this.#wake?.();
  }
}
