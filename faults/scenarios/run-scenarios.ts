/** Scenarios one after the other, in rounds, each on a deployment that is as it was at first. */
import { Failure } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import type { Shape } from "../../valkey/topology/placement";
import { restoreRoles } from "./actions";
import type { ScenarioResult } from "./run-scenario";
import { runScenario } from "./run-scenario";
import type { FaultInjector } from "../injectors/fault-injector";
import type { Scenario } from "../plan/fault";
import { DeploymentObserver } from "../observation/deployment-observer";

/** A deployment that is to suffer. */
export interface FaultSubject {
  readonly injector: FaultInjector;
  readonly shape: Shape;
  /** Whether replicas of replication mode take over by themselves. */
  readonly hasAutomaticFailover: boolean;
  /** Its primaries when it had been formed. */
  readonly initialPrimaries: readonly string[];
}

export interface ScenarioTask {
  readonly scenario: Scenario;
  readonly repeats: number;
  readonly subject: FaultSubject;
}

export interface ScenarioOptions {
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
  /** Takes each as soon as there is one. */
  readonly onResult: (broken: ScenarioResult) => void;
}

/** Milliseconds for a deployment to have its roles again. */
const ROLES_PATIENCE_MS = 60_000;
const OBSERVER_TIMEOUT_MS = 1000;

/**
 * Every task as often as it is to be repeated, in rounds.
 * @throws Failure when a deployment does not get well again: nothing can be told from breaking it further
 */
export async function runScenarios(
  tasks: readonly ScenarioTask[],
  { signal, report, onResult }: ScenarioOptions,
): Promise<void> {
  const rounds = Math.max(0, ...tasks.map(({ repeats }) => repeats));
  const total = tasks.reduce((sum, { repeats }) => sum + repeats, 0);
  let done = 0;
  for (let round = 1; round <= rounds; round++) {
    for (const { scenario, repeats, subject } of tasks) {
      if (round > repeats) continue;
      signal.throwIfAborted();
      const { injector, shape, hasAutomaticFailover, initialPrimaries } = subject;
      report(`${++done}/${total} ${scenario.name} on ${injector.deployment.name}`);
      await asAtFirst(injector, shape, initialPrimaries, signal);
      const broken = await runScenario({ injector, shape, scenario, round, hasAutomaticFailover, signal, report });
      onResult(broken);
      if (broken.record.unwell !== null)
        throw new Failure(
          `${injector.deployment.name} did not get well after ${scenario.name}: ${broken.record.unwell}`,
        );
    }
  }
}

async function asAtFirst(
  breaker: FaultInjector,
  shape: Shape,
  primaries: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const { deployment } = breaker;
  const observer = new DeploymentObserver(
    () => ({ mode: deployment.mode, ...shape }),
    breaker.nodes,
    (endpoint) => breaker.dial(endpoint, OBSERVER_TIMEOUT_MS),
  );
  try {
    await observer.start();
    await restoreRoles(primaries, {
      injector: breaker,
      observer,
      shape,
      signal,
      patienceMs: ROLES_PATIENCE_MS,
      logEvent: () => undefined,
    });
  } finally {
    await observer.stop();
  }
}
