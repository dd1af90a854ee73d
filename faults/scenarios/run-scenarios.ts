import { Failure } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import { DeploymentObserver } from "../observation/deployment-observer";
import type { Scenario } from "../plan/scenario";
import type { FaultContext } from "../actions/fault-context";
import { handOver } from "../actions/hand-over";
import { awaitCondition } from "../../lib/polling";
import { runScenario } from "./run-scenario";
import type { FaultSubject, ScenarioResult } from "./scenario-run";

export interface ScenarioTask {
  readonly scenario: Scenario;
  readonly repeats: number;
  readonly subject: FaultSubject;
}

interface ScenarioOptions {
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
  readonly onResult: (result: ScenarioResult) => void;
}

const RESTORE_TIMEOUT_MS = 60_000;
const OBSERVER_TIMEOUT_MS = 1000;
const POLL_MS = 20;

/** @throws Failure if a deployment does not recover: later scenarios would also show the effects of this one */
export async function runScenarios(
  tasks: readonly ScenarioTask[],
  { signal, report, onResult }: ScenarioOptions,
): Promise<void> {
  const rounds = Math.max(0, ...tasks.map(({ repeats }) => repeats));
  const total = tasks.reduce((sum, { repeats }) => sum + repeats, 0);
  let started = 0;
  for (let round = 1; round <= rounds; round++) {
    for (const { scenario, subject } of tasks.filter(({ repeats }) => round <= repeats)) {
      signal.throwIfAborted();
      const { name } = subject.injector.deployment;
      report(`${++started}/${total} ${scenario.name} on ${name}`);
      await restoreInitialPrimaries(subject, signal);
      const result = await runScenario({ ...subject, scenario, round, signal, report });
      onResult(result);
      const { recoveryFailure } = result.record;
      if (recoveryFailure !== null)
        throw new Failure(`${name} did not recover from ${scenario.name}: ${recoveryFailure}`);
    }
  }
}

async function restoreInitialPrimaries(
  { injector, shape, initialPrimaries }: FaultSubject,
  signal: AbortSignal,
): Promise<void> {
  const expected = { mode: injector.deployment.mode, ...shape };
  const observer = new DeploymentObserver(
    () => expected,
    injector.nodes,
    (endpoint) => injector.dial(endpoint, OBSERVER_TIMEOUT_MS),
  );
  const polling = { timeoutMs: RESTORE_TIMEOUT_MS, intervalMs: POLL_MS };
  try {
    await observer.start();
    await restoreRoles(initialPrimaries, { ...polling, injector, observer, shape, signal, logEvent: () => undefined });
  } finally {
    await observer.stop();
  }
}

async function restoreRoles(initialPrimaries: readonly string[], context: FaultContext): Promise<void> {
  const { observer } = context;
  await awaitCondition("every node is up and every replica linked", () => observer.isRedundant, context);
  for (const name of initialPrimaries) {
    const { role, follows } = observer.state(name);
    if (role === "replica" && follows !== undefined) await handOver(follows, context, name);
  }
}
