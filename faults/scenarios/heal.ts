/**
 * Phase 4: waits until the plan says that the fault must be healed, and then heals it. Before that, this phase assists
 * a deployment that cannot recover by itself.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { WriteClient } from "../writes/write-client";
import { holdsInTime } from "../../lib/polling";
import { nodeTimeout } from "../actions/directives";
import type { Injection } from "./inject";
import type { ScenarioObservation } from "./observe";
import { performAction } from "../actions/perform-action";
import type { PreparedScenario } from "./prepare";
import type { ScenarioRun } from "./scenario-run";

/**
 * Number of node timeouts after which a cluster that does not serve is assisted. A failover takes about one node
 * timeout, so a cluster that does not serve after three node timeouts will not recover by itself.
 */
const ASSIST_AFTER_NODE_TIMEOUTS = 3;
const ASSIST_AFTER_EXTRA_MS = 1000;
/**
 * Milliseconds after which a deployment in replication mode without Sentinels is assisted. The time is short, because
 * such a deployment never recovers by itself. The time is nevertheless long enough to show the outage.
 */
const ASSIST_AFTER_REPLICATION_MS = 2000;
/** A shard counts as served if it has acknowledged a write within this time, milliseconds. */
const RECENT_MS = 500;

/** Result of healing a fault. */
export interface Healing {
  /** Whether an assisting action or a healing action was needed before all shards were served. */
  readonly assisted: boolean;
}

/** Heals the fault. @returns when all healing actions have been performed */
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

/** Milliseconds after which a deployment that has not recovered is assisted. */
function assistAfterMs({ injector: { deployment }, hasAutomaticFailover, scenario }: ScenarioRun): number {
  if (deployment.mode === "cluster")
    return ASSIST_AFTER_NODE_TIMEOUTS * nodeTimeout(deployment) + ASSIST_AFTER_EXTRA_MS;
  return hasAutomaticFailover ? scenario.recoveryTimeoutSeconds * 1000 : ASSIST_AFTER_REPLICATION_MS;
}

/**
 * Whether every shard serves. A shard serves if it has acknowledged a recent write that was due after the fault. If a
 * write to the shard failed recently, the acknowledged write must have been due later than the failed write.
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
