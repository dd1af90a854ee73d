/** Scenarios one after the other, in rounds, each on a deployment that is as it was at first. */
import { Failure } from "../lib/errors";
import type { Report } from "../lib/progress";
import type { Shape } from "../valkey/topology/placement";
import { restoreRoles } from "./actions";
import type { Broken } from "./break-once";
import { breakOnce } from "./break-once";
import type { Breaker } from "./breaker";
import type { Scenario } from "./fault";
import { Observer } from "./observer";

/** A deployment that is to suffer. */
export interface Sufferer {
  readonly breaker: Breaker;
  readonly shape: Shape;
  /** Whether replicas of replication mode take over by themselves. */
  readonly failsOver: boolean;
  /** Its primaries when it had been formed. */
  readonly primaries: readonly string[];
}

export interface Task {
  readonly scenario: Scenario;
  readonly repeats: number;
  readonly sufferer: Sufferer;
}

export interface Breaking {
  readonly signal: AbortSignal;
  readonly report: Report;
  /** Takes each as soon as there is one. */
  readonly emit: (broken: Broken) => void;
}

/** Milliseconds for a deployment to have its roles again. */
const ROLES_PATIENCE_MS = 60_000;
const OBSERVER_TIMEOUT_MS = 1000;

/**
 * Every task as often as it is to be repeated, in rounds.
 * @throws Failure when a deployment does not get well again: nothing can be told from breaking it further
 */
export async function breakAll(tasks: readonly Task[], { signal, report, emit }: Breaking): Promise<void> {
  const rounds = Math.max(0, ...tasks.map(({ repeats }) => repeats));
  const total = tasks.reduce((sum, { repeats }) => sum + repeats, 0);
  let done = 0;
  for (let round = 1; round <= rounds; round++) {
    for (const { scenario, repeats, sufferer } of tasks) {
      if (round > repeats) continue;
      signal.throwIfAborted();
      const { breaker, shape, failsOver, primaries } = sufferer;
      report(`${++done}/${total} ${scenario.name} on ${breaker.deployment.name}`);
      await asAtFirst(breaker, shape, primaries, signal);
      const broken = await breakOnce({ breaker, shape, scenario, round, failsOver, signal, report });
      emit(broken);
      if (broken.record.unwell !== null) throw new Failure(`${breaker.deployment.name} did not get well after ${scenario.name}: ${broken.record.unwell}`);
    }
  }
}

async function asAtFirst(breaker: Breaker, shape: Shape, primaries: readonly string[], signal: AbortSignal): Promise<void> {
  const { deployment } = breaker;
  const observer = new Observer(() => ({ mode: deployment.mode, ...shape }), breaker.nodes, (endpoint) => breaker.dial(endpoint, OBSERVER_TIMEOUT_MS));
  try {
    await observer.start();
    await restoreRoles(primaries, { breaker, observer, shape, signal, patienceMs: ROLES_PATIENCE_MS, note: () => undefined });
  } finally {
    await observer.stop();
  }
}
