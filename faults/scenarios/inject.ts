/** Phase 3: lets writes run undisturbed for some time, and then injects the fault. */
import { setTimeout as sleep } from "node:timers/promises";
import { performAction } from "../actions/perform-action";
import type { ScenarioObservation } from "./observe";
import type { PreparedScenario } from "./prepare";
import type { ScenarioRun } from "./scenario-run";

/** Times around the injection of the fault. All times except `startedAt` are in milliseconds of performance.now. */
export interface Injection {
  readonly startedAt: Date;
  /**
   * Start of the time from which latencies are recorded as latencies before the fault. The first half of the
   * undisturbed writes is a warm-up and is not recorded.
   */
  readonly steadyMs: number;
  readonly faultMs: number;
}

/** Injects the fault. @returns when every action of the fault has been performed */
export async function inject(
  { scenario, signal }: ScenarioRun,
  { plan }: PreparedScenario,
  { client, observer, context }: ScenarioObservation,
): Promise<Injection> {
  const startedAt = new Date();
  await Promise.all([client.start(), observer.start()]);
  const beganMs = performance.now();
  await sleep(scenario.beforeSeconds * 1000, undefined, { signal });
  observer.resetLastUnhealthy();
  const faultMs = performance.now();
  for (const action of plan.inject) await performAction(action, context);
  return { startedAt, steadyMs: (beganMs + faultMs) / 2, faultMs };
}
