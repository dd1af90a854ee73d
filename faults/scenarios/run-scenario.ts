import { setTimeout as sleep } from "node:timers/promises";
import { type ScenarioObservation, closeObservation, createObservation } from "./observe";
import { type PreparedScenario, prepare, undo, failedAssertions } from "./prepare";
import type { ScenarioResult, ScenarioRun, FaultSubject } from "./scenario-run";
import { performAction } from "../actions/perform-action";
import { type Injection, type Healing, type Recovery, scenarioRecord } from "./scenario-record";
import type { WriteClient } from "../writes/write-client";
import { holdsInTime, awaitCondition } from "../../lib/polling";
import { nodeTimeout } from "../actions/directives";
import { rowOf } from "../../valkey/verification/assertions";
import { type Verification, verify } from "../../valkey/verification/verify";
import type { FaultContext } from "../actions/fault-context";
import { form } from "../../valkey/formation/form";
import { accountForWrites } from "../writes/accounting";
import { Failure } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import { DeploymentObserver } from "../observation/deployment-observer";
import type { Scenario } from "../plan/scenario";
import { handOver } from "../actions/hand-over";

const VERIFY_EVERY_MS = 200;

/** A failover takes about one node timeout: a cluster that does not serve after three will not recover by itself. */
const ASSIST_AFTER_NODE_TIMEOUTS = 3;
const ASSIST_AFTER_EXTRA_MS = 1000;
/** Short, because replication without Sentinels never recovers by itself; long enough to show the outage. */
const ASSIST_AFTER_REPLICATION_MS = 2000;
/** A shard counts as served if it has acknowledged a write within this time, milliseconds. */
const RECENT_MS = 500;

/** Reverses its effects even if it fails. @throws BadInput if the fault is impossible; Failure before or in a step */
async function runScenario(run: ScenarioRun): Promise<ScenarioResult> {
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

async function inject(
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

/** Assists a deployment that cannot recover by itself before. */
async function heal(
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

function assistAfterMs({ injector: { deployment }, hasAutomaticFailover, scenario }: ScenarioRun): number {
  if (deployment.mode === "cluster")
    return ASSIST_AFTER_NODE_TIMEOUTS * nodeTimeout(deployment) + ASSIST_AFTER_EXTRA_MS;
  return hasAutomaticFailover ? scenario.recoveryTimeoutSeconds * 1000 : ASSIST_AFTER_REPLICATION_MS;
}

/** It acknowledged a recent write that was due after the fault, and later than any failed write. */
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

/** As redundant as before and verified, or the time is up. Also moves roles in wrong zones if the scenario asks. */
async function awaitRecovery(run: ScenarioRun, { context }: ScenarioObservation): Promise<Recovery> {
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

async function repairZones({ injector, shape, signal, logEvent }: FaultContext): Promise<boolean> {
  if (injector.deployment.mode !== "cluster") return false;
  const report = (line: string, passing?: boolean): void => {
    if (passing !== true) logEvent(line);
  };
  const { changed } = await form({ ...injector.deployment, nodes: injector.nodes() }, shape, { signal, report });
  return changed;
}

function hasUnsafeZones({ verdict }: Verification): boolean {
  return verdict.assertions.some(({ id, pass }) => !pass && rowOf(id)?.handOver === true);
}

interface FinishedPhases {
  readonly prepared: PreparedScenario;
  readonly observation: ScenarioObservation;
  readonly injection: Injection;
  readonly healing: Healing;
  readonly recovery: Recovery;
}

/** Keys that cannot be read are counted in the record. */
async function accountAndRecord(run: ScenarioRun, phases: FinishedPhases): Promise<ScenarioResult> {
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
