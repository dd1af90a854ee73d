/**
 * Runs one scenario once, phase by phase: prepare, observe, inject, heal, await recovery, account. Each phase has its
 * own file in this directory.
 */
import { accountAndRecord } from "./account";
import { awaitRecovery } from "./await-recovery";
import { heal } from "./heal";
import { inject } from "./inject";
import { closeObservation, createObservation } from "./observe";
import { prepare, undo } from "./prepare";
import type { ScenarioResult, ScenarioRun } from "./scenario-run";

/**
 * Runs the scenario, and reverses its effects even if it fails.
 * @throws BadInput when the fault cannot be injected into this deployment
 * @throws Failure when the deployment does not pass verification before the fault, or a step fails for a reason other
 *   than the fault
 */
export async function runScenario(run: ScenarioRun): Promise<ScenarioResult> {
  const configured = run.injector.deployment.directives;
  try {
    const prepared = await prepare(run, configured);
    const observation = createObservation(run, prepared);
    try {
      const injection = await inject(run, prepared, observation);
      const healing = await heal(run, prepared, observation, injection);
      const recovery = await awaitRecovery(run, observation);
      return await accountAndRecord(run, { prepared, observation, injection, healing, recovery });
    } finally {
      await closeObservation(observation);
    }
  } finally {
    await undo(run, configured);
  }
}
