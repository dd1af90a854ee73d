/**
 * Order of restarts in a roll-out. Pure.
 *
 * In replication mode without Sentinels, `nextRestart` decides. In all other deployments, the StatefulSet restarts pods
 * from the highest ordinal down. When TLS is turned on or off, all pods restart at once (`handlers/rollout.ts`).
 */
import type { OutdatedPod } from "../../platforms/kubernetes/pods/await-rollout";

/** Pods of a deployment during a roll-out. */
export interface RestartState {
  /** Pods with an old template; at least one. */
  readonly outdated: readonly OutdatedPod[];
  /** Names of the pods whose servers run. */
  readonly running: readonly string[];
  /** The only primary; undefined if there is none, or if there are several. */
  readonly primary: string | undefined;
  /** The only pod that may start as the primary; undefined if no pod is designated. */
  readonly designated: string | undefined;
}

/** The next pod to restart. */
export interface Restart {
  /** Name of the pod; undefined if no pod may restart yet. */
  readonly pod?: string | undefined;
  /** Pod that takes over from the primary before the primary restarts. @default none */
  readonly successor?: string | undefined;
}

/** Chooses the next pod to restart. The primary comes last, after a pod with the newest template has taken over. */
export function nextRestart({ outdated, running, primary, designated }: RestartState): Restart {
  const others = outdated.filter(({ name }) => name !== primary);
  const broken = others.find(({ name, ready }) => !ready && (name !== designated || outdated.length === 1));
  if (broken !== undefined) return { pod: broken.name };
  // Servers may all be replicas for a moment, before one of them becomes the primary.
  if (primary === undefined) return {};
  const [next] = others;
  if (next !== undefined) return { pod: next.name };
  return { pod: primary, successor: running.find((name) => outdated.every((pod) => pod.name !== name)) };
}
