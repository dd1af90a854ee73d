/** Phase 6: stops the writes, reads every key back, finds the lost writes, and makes the record of the scenario. */
import { setTimeout as sleep } from "node:timers/promises";
import { accountForWrites } from "../writes/accounting";
import type { Recovery } from "./await-recovery";
import { nodeTimeout } from "../actions/directives";
import type { Healing } from "./heal";
import type { Injection } from "./inject";
import type { ScenarioObservation } from "./observe";
import type { PreparedScenario } from "./prepare";
import type { ScenarioResult, ScenarioRun } from "./scenario-run";
import { scenarioRecord } from "./scenario-record";

/** Results of phases 1 to 5 of a scenario. */
export interface FinishedPhases {
  readonly prepared: PreparedScenario;
  readonly observation: ScenarioObservation;
  readonly injection: Injection;
  readonly healing: Healing;
  readonly recovery: Recovery;
}

/**
 * Finds the lost writes of a scenario, and makes its record. Keys that cannot be read are counted in the record.
 * @throws Failure if the load cannot be stopped
 */
export async function accountAndRecord(run: ScenarioRun, phases: FinishedPhases): Promise<ScenarioResult> {
  const { scenario, injector, round, signal, report } = run;
  const { prepared, observation, injection, healing, recovery } = phases;
  const { client, observer, events } = observation;
  const { deployment } = injector;
  await sleep(scenario.afterSeconds * 1000, undefined, { signal });
  await client.stop();
  report(`${scenario.name}: reading every key back`, true);
  const accounting = accountForWrites(client.history.byKey(), await client.readBack());
  const { faultMs } = injection;
  const record = scenarioRecord({
    deployment: deployment.name,
    mode: deployment.mode,
    scenario,
    round,
    observations: {
      ...injection,
      ...healing,
      ...recovery,
      plan: prepared.plan,
      shards: prepared.before.verdict.shards,
      nodeTimeoutMs: deployment.mode === "cluster" ? nodeTimeout(deployment) : null,
      writes: client.history.writes,
      accounting,
      last: observer.lastUnhealthy,
      changes: observer.changes(faultMs),
      events: events.map(({ atMs, what }) => ({ atMs: atMs - faultMs, what })),
    },
  });
  return { record, lost: accounting.lost };
}
