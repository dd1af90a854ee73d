/**
 * Phase 5: waits until the deployment is as redundant as before the fault and passes verification. If the scenario asks
 * for it, this phase also moves roles that are in the wrong zones.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Verification } from "../../valkey/verification/verify";
import { verify } from "../../valkey/verification/verify";
import { holdsInTime } from "../../lib/polling";
import type { ScenarioObservation } from "./observe";
import { failedAssertions } from "./prepare";
import { repairZones } from "../actions/roles";
import type { ScenarioRun } from "./scenario-run";

/** Assertions that fail if roles are in the wrong zones. An orderly failover can repair the roles. */
const ZONE_ASSERTIONS: readonly string[] = ["zones-apart", "replica-elsewhere"];
const VERIFY_EVERY_MS = 200;

/** Recovery of the deployment after the fault. */
export interface Recovery {
  /** Whether roles were moved between zones. */
  readonly repaired: boolean;
  /**
   * Time at which verification passed, in milliseconds of performance.now; null if verification did not pass in time.
   */
  readonly verifiedMs: number | null;
  /** The assertions that still failed at the end; null if verification passed. */
  readonly recoveryFailure: string | null;
}

/** Waits for recovery. @returns when verification passes or the time limit for recovery is over */
export async function awaitRecovery(run: ScenarioRun, { context }: ScenarioObservation): Promise<Recovery> {
  const { scenario, injector, signal } = run;
  const { observer, logEvent } = context;
  let repaired = false;
  await holdsInTime(() => observer.isRedundant, context);
  const deadline = performance.now() + context.timeoutMs;
  for (;;) {
    const verification = await verify({ ...injector.deployment, nodes: injector.nodes() });
    if (verification.verdict.pass) return { repaired, verifiedMs: performance.now(), recoveryFailure: null };
    if (scenario.repair && !repaired && observer.isRedundant && hasUnsafeZones(verification)) {
      logEvent("repair zones: a primary and its replica are in one zone");
      repaired = await repairZones(context);
    } else if (performance.now() > deadline) {
      return { repaired, verifiedMs: null, recoveryFailure: failedAssertions(verification) };
    }
    await sleep(VERIFY_EVERY_MS, undefined, { signal });
  }
}

function hasUnsafeZones({ verdict }: Verification): boolean {
  return verdict.assertions.some(({ id, pass }) => !pass && ZONE_ASSERTIONS.includes(id));
}
