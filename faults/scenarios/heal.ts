/** Phase 4: waits until the plan says to heal, assists a deployment that cannot recover by itself, and heals the fault. */
import { setTimeout as sleep } from "node:timers/promises";
import type { WriteClient } from "../writes/write-client";
import { holdsInTime } from "../../lib/polling";
import { nodeTimeout } from "../actions/directives";
import type { Injection } from "./inject";
import type { ScenarioObservation } from "./observe";
import { performAction } from "../actions/perform-action";
import type { PreparedScenario } from "./prepare";
import type { ScenarioRun } from "./scenario-run";

/** A failover takes about one node timeout; a cluster that serves nothing after three is not going to recover by itself. */
const ASSIST_AFTER_NODE_TIMEOUTS = 3;
const ASSIST_AFTER_EXTRA_MS = 1000;
/** Replication mode without Sentinels never recovers by itself: a short wait shows the outage, milliseconds. */
const ASSIST_AFTER_REPLICATION_MS = 2000;
/** Every shard must acknowledge for so long before it counts as served, milliseconds. */
const RECENT_MS = 500;

/** Duration and steps of healing. */
export interface Healing {
  /** Whether all shards were served only after an assisting or healing action. */
  readonly assisted: boolean;
}

/** @returns once every healing action is performed */
export async function heal(
  run: ScenarioRun,
  { plan }: PreparedScenario,
  { client, context }: ScenarioObservation,
  { faultMs }: Injection,
): Promise<Healing> {
  let assisted = false;
  if (plan.healWhen === "served") {
    const served = (): boolean => isServed(client, faultMs);
    const recovered = await holdsInTime(served, { ...context, timeoutMs: assistAfterMs(run) });
    if (!recovered) {
      assisted = plan.assist.length > 0 || plan.heal.length > 0;
      for (const action of plan.assist) await performAction(action, context);
      if (plan.assist.length > 0) await holdsInTime(served, context);
    }
  } else {
    const remainingMs = faultMs + plan.healWhen.seconds * 1000 - performance.now();
    await sleep(Math.max(0, remainingMs), undefined, { signal: run.signal });
  }
  for (const action of plan.heal) await performAction(action, context);
  return { assisted: assisted && run.scenario.fault.kind !== "rolling-restart" };
}

/** How long a deployment has to recover without assistance, milliseconds. */
function assistAfterMs({ injector: { deployment }, hasAutomaticFailover, scenario }: ScenarioRun): number {
  if (deployment.mode === "cluster")
    return ASSIST_AFTER_NODE_TIMEOUTS * nodeTimeout(deployment) + ASSIST_AFTER_EXTRA_MS;
  return hasAutomaticFailover ? scenario.recoveryTimeoutSeconds * 1000 : ASSIST_AFTER_REPLICATION_MS;
}

/**
 * Whether every shard has acknowledged a write that was due after the fault and after the shard's last recent failure.
 */
function isServed({ history, shardCount }: WriteClient, faultMs: number): boolean {
  const now = performance.now();
  if (now - faultMs <= RECENT_MS) return false;
  const lastFailure = new Map<number, number>();
  const lastSuccess = new Map<number, number>();
  const { writes } = history;
  const fromMs = Math.max(faultMs, now - RECENT_MS);
  for (let index = writes.length - 1; index >= 0; index--) {
    const write = writes[index];
    if (write === undefined || write.endedMs < fromMs) break;
    const isSuccess = write.outcome.kind === "acknowledged";
    if (isSuccess && write.dueMs <= faultMs) continue;
    const last = isSuccess ? lastSuccess : lastFailure;
    if (!last.has(write.shard)) last.set(write.shard, write.dueMs);
  }
  const recovered = ([shard, failedMs]: readonly [number, number]): boolean => (lastSuccess.get(shard) ?? 0) > failedMs;
  return lastSuccess.size === shardCount && [...lastFailure].every(recovered);
}
