/** One scenario, once: writes go on, the fault strikes, the deployment heals, and the books are balanced. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { withConnections } from "../../valkey/connections";
import type { Connection } from "../../valkey/connection";
import type { Endpoint } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import { BadInput, Failure, messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import type { ScenarioRecord } from "./scenario-schema";
import type { Shape } from "../../valkey/topology/placement";
import type { Verification } from "../../valkey/verification/verify";
import { verify } from "../../valkey/verification/verify";
import type { LostWrite } from "../writes/accounting";
import { accountForWrites } from "../writes/accounting";
import type { FaultContext } from "./actions";
import { performAction, repairZones } from "./actions";
import type { FaultInjector } from "../injectors/fault-injector";
import { attemptAll } from "../injectors/fault-injector";
import type { Scenario } from "../plan/fault";
import type { FaultPlan, DeploymentOutline } from "../plan/fault-plan";
import { planFault } from "../plan/fault-plan";
import { DeploymentObserver } from "../observation/deployment-observer";
import type { ScenarioObservations } from "./scenario-record";
import { scenarioRecord } from "./scenario-record";
import { until, within } from "./waiting";
import { WriteClient } from "../writes/write-client";

/** In replication without a failover, and where no majority is left, waiting longer changes nothing: so many node timeouts at most. */
const HELP_AFTER_TIMEOUTS = 3;
const DEFAULT_NODE_TIMEOUT_MS = 15_000;
/** What passes without a failover, milliseconds. */
const HELP_AFTER_REPLICATION_MS = 2000;
/** A node timeout that has just become shorter cuts links whose pings are older than that; they are made anew within moments. */
const SETTLED_MS = 5000;

export interface ScenarioRun {
  readonly injector: FaultInjector;
  readonly shape: Shape;
  readonly scenario: Scenario;
  /** From 1 on. */
  readonly round: number;
  /** Whether replicas of replication mode take over by themselves. */
  readonly hasAutomaticFailover: boolean;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

export interface ScenarioResult {
  readonly record: ScenarioRecord;
  /** All of them; the record names the first. */
  readonly lost: readonly LostWrite[];
}

/**
 * @throws BadInput when the deployment cannot suffer that fault
 * @throws Failure when it is not well to begin with, or something fails that is not the fault's doing
 */
export async function runScenario(attempt: ScenarioRun): Promise<ScenarioResult> {
  const { injector, scenario, signal } = attempt;
  const configured = injector.deployment.directives;
  try {
    await setDirectives(injector, scenario.settings);
    const before = await verifyWell(injector, signal);
    const plan = planFor(attempt, before, configured);
    return await carryOutAttempt(attempt, before, plan);
  } finally {
    const left = [...(await injector.restore())];
    // Even when told to stop: the next scenario, or whoever keeps the deployment, has its own settings.
    if (!signal.aborted || scenario.settings.size > 0)
      left.push(...(await attemptAll(() => resetDirectives(injector, configured, scenario.settings))));
    for (const why of left) attempt.report(`${scenario.name}: could not be taken back: ${why}`);
  }
}

/** @throws Failure when it does not verify, and does not come to */
async function verifyWell({ deployment }: FaultInjector, signal: AbortSignal): Promise<Verification> {
  let found = await verify(deployment);
  const isWell = async (): Promise<boolean> => found.verdict.pass || (found = await verify(deployment)).verdict.pass;
  if (!(await within({ signal, patienceMs: SETTLED_MS, pollMs: 250 }, isWell)))
    throw new Failure(`${deployment.name} is not well to begin with: ${failingAssertions(found)}`);
  return found;
}

function planFor(
  { injector, scenario, shape, hasAutomaticFailover }: ScenarioRun,
  before: Verification,
  configured: ReadonlyMap<string, string>,
): FaultPlan {
  const plan = planFault(scenario.fault, outlineOf(injector, before, shape, hasAutomaticFailover));
  const why = injector.unmetPrecondition(scenario, configured) ?? (typeof plan === "string" ? plan : undefined);
  if (why !== undefined || typeof plan === "string")
    throw new BadInput(`${scenario.name} on ${injector.deployment.name}`, [why ?? ""]);
  return plan;
}

export function outlineOf(
  { deployment: { mode, nodes, directives, sentinels }, rediscoversPeers }: FaultInjector,
  { verdict }: Verification,
  shape: Shape,
  failsOver: boolean,
): DeploymentOutline {
  return {
    mode,
    shape,
    shards: verdict.shards.flatMap(({ primary, replicas }) => (primary === undefined ? [] : [{ primary, replicas }])),
    zoneOf: new Map(nodes.map(({ name, zone }) => [name, zone ?? ""])),
    machineOf: new Map(nodes.map(({ name, machine }) => [name, machine])),
    sentinelZoneOf: new Map((sentinels?.nodes ?? []).map(({ name, zone }) => [name, zone ?? ""])),
    hasAutomaticFailover: mode === "cluster" ? directives.get("cluster-replica-no-failover") !== "yes" : failsOver,
    persistent: directives.get("appendonly") === "yes",
    rediscoversPeers,
  };
}

async function carryOutAttempt(attempt: ScenarioRun, before: Verification, plan: FaultPlan): Promise<ScenarioResult> {
  const { injector, scenario, shape, signal, report } = attempt;
  const { mode } = injector.deployment;
  const dial = dialer(injector, scenario.load.timeoutMs + scenario.load.acknowledgement.timeoutMs);
  const { shards } = before.verdict;
  const writer = new WriteClient(
    { mode, shards: shards.map(({ slots }) => slots), nodes: injector.nodes, dial },
    scenario.load,
    `break:${randomBytes(3).toString("hex")}:`,
  );
  const observer = new DeploymentObserver(
    () => ({ mode, ...shape }),
    injector.nodes,
    dialer(injector, scenario.load.timeoutMs),
  );
  const events: { atMs: number; what: string }[] = [];
  const note = (what: string): void => {
    events.push({ atMs: performance.now(), what });
    report(`${scenario.name}: ${what}`, true);
  };
  const stage: FaultContext = {
    injector,
    observer,
    shape,
    signal,
    patienceMs: scenario.recoveryTimeoutSeconds * 1000,
    logEvent: note,
  };
  try {
    const startedAt = new Date();
    await Promise.all([writer.start(), observer.start()]);
    const beganMs = performance.now();
    await sleep(scenario.beforeSeconds * 1000, undefined, { signal });
    observer.resetLastUnhealthy();
    const faultMs = performance.now();
    for (const action of plan.inject) await performAction(action, stage);
    const helped = await heal(attempt, plan, stage, writer, faultMs);
    const end = await settle(attempt, stage);
    await sleep(scenario.afterSeconds * 1000, undefined, { signal });
    await writer.stop();
    report(`${scenario.name}: reading back`, true);
    const finding: ScenarioObservations = {
      startedAt,
      // The first half warms up whoever takes part.
      steadyMs: (beganMs + faultMs) / 2,
      faultMs,
      plan,
      shards,
      nodeTimeoutMs: mode === "cluster" ? nodeTimeout(injector.deployment) : null,
      writes: writer.history.writes,
      accounting: accountForWrites(writer.history.byKey(), await writer.readBack()),
      last: observer.lastUnhealthy,
      changes: observer.changes(faultMs),
      events: events.map(({ atMs, what }) => ({ atMs: atMs - faultMs, what })),
      helped,
      ...end,
    };
    return {
      record: scenarioRecord({ deployment: injector.deployment.name, mode, scenario, round: attempt.round, finding }),
      lost: finding.accounting.lost,
    };
  } finally {
    writer.close();
    await observer.stop();
  }
}

/**
 * Waits for the time to heal, and heals.
 * @returns whether help was needed for all to be served
 */
async function heal(
  { scenario, injector, hasAutomaticFailover }: ScenarioRun,
  plan: FaultPlan,
  stage: FaultContext,
  writer: WriteClient,
  faultMs: number,
): Promise<boolean> {
  const { mode } = injector.deployment;
  let helped = false;
  if (plan.healWhen === "served") {
    const waitMs =
      mode === "cluster"
        ? HELP_AFTER_TIMEOUTS * nodeTimeout(injector.deployment) + 1000
        : hasAutomaticFailover
          ? stage.patienceMs
          : HELP_AFTER_REPLICATION_MS;
    const served = await within({ ...stage, patienceMs: waitMs }, () => isServed(writer, faultMs));
    if (!served) {
      helped = plan.assist.length > 0 || plan.heal.length > 0;
      for (const action of plan.assist) await performAction(action, stage);
      if (plan.assist.length > 0) await within(stage, () => isServed(writer, faultMs));
    }
  } else {
    await sleep(Math.max(0, faultMs + plan.healWhen.seconds * 1000 - performance.now()), undefined, {
      signal: stage.signal,
    });
  }
  for (const action of plan.heal) await performAction(action, stage);
  return helped && scenario.fault.kind !== "rolling-restart";
}

/** Every shard has acknowledged a write that was due after the fault and after whatever failed last; a moment without failures. */
function isServed(writer: WriteClient, faultMs: number): boolean {
  const { writes } = writer.history;
  const now = performance.now();
  const lastFailure = new Map<number, number>();
  const lastSuccess = new Map<number, number>();
  for (let index = writes.length - 1; index >= 0; index--) {
    const write = writes[index];
    if (write === undefined || write.endedMs < Math.max(faultMs, now - RECENT_MS)) break;
    if (write.outcome.kind === "acknowledged") {
      if (write.dueMs > faultMs && !lastSuccess.has(write.shard)) lastSuccess.set(write.shard, write.dueMs);
    } else if (!lastFailure.has(write.shard)) lastFailure.set(write.shard, write.dueMs);
  }
  return (
    now - faultMs > RECENT_MS &&
    lastSuccess.size === writer.shardCount &&
    [...lastFailure].every(([shard, at]) => (lastSuccess.get(shard) ?? 0) > at)
  );
}

/** Milliseconds. */
const RECENT_MS = 500;

interface End {
  readonly repaired: boolean;
  readonly verifiedMs: number | null;
  readonly unwell: string | null;
}

/** Waits until all is as redundant as before, repairs what is not zone-safe, and verifies. */
async function settle({ scenario, injector }: ScenarioRun, stage: FaultContext): Promise<End> {
  let repaired = false;
  try {
    await until("every node is there and every replica linked", () => stage.observer.isRedundant, stage);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  const deadline = performance.now() + stage.patienceMs;
  for (;;) {
    const { verdict } = await verify({ ...injector.deployment, nodes: injector.nodes() });
    if (verdict.pass) return { repaired, verifiedMs: performance.now(), unwell: null };
    const unsafe = verdict.assertions.some(({ id, pass }) => !pass && ZONE_ASSERTIONS.includes(id));
    const settled = stage.observer.isRedundant;
    if (scenario.repair && unsafe && settled && !repaired) {
      stage.logEvent("zones are not safe: repair");
      repaired = await repairZones(stage);
    } else if (performance.now() > deadline) {
      return {
        repaired,
        verifiedMs: null,
        unwell: verdict.assertions
          .filter(({ pass }) => !pass)
          .map(({ id, found }) => `${id}: ${found}`)
          .join("; "),
      };
    }
    await sleep(VERIFY_EVERY_MS, undefined, { signal: stage.signal });
  }
}

const ZONE_ASSERTIONS: readonly string[] = ["zones-apart", "replica-elsewhere"];
const VERIFY_EVERY_MS = 200;

export function nodeTimeout({ directives }: Deployment): number {
  return Number(directives.get("cluster-node-timeout") ?? DEFAULT_NODE_TIMEOUT_MS);
}

function failingAssertions({ verdict }: Verification): string {
  return verdict.assertions
    .filter(({ pass }) => !pass)
    .map(({ id, found }) => `${id}: ${found}`)
    .join("; ");
}

/** Connections of clients that know where to be redirected to (8.0 and newer do that in replication mode when told so). */
function dialer(breaker: FaultInjector, timeoutMs: number): (endpoint: Endpoint) => Promise<Connection> {
  return async (endpoint) => {
    const connection = await breaker.dial(endpoint, timeoutMs);
    if (breaker.deployment.mode === "replication")
      await connection.call("CLIENT", "CAPA", "redirect").catch(() => undefined);
    return connection;
  };
}

/** In force on all nodes, and when they are started again. */
async function setDirectives(breaker: FaultInjector, settings: ReadonlyMap<string, string>): Promise<void> {
  breaker.setStartupDirectives(new Map([...breaker.deployment.directives, ...settings]));
  if (settings.size === 0) return;
  await tellAll(breaker, [...settings].flat());
}

async function tellAll(breaker: FaultInjector, words: readonly string[]): Promise<void> {
  await withConnections({ ...breaker.deployment, nodes: breaker.nodes() }, (connections) =>
    Promise.all(
      [...connections].map(async ([{ name }, connection]) => {
        try {
          await connection.call("CONFIG", "SET", ...words);
        } catch (error) {
          throw new Failure(`${name} does not take ${words.join(" ")}: ${messageOf(error)}`, { cause: error });
        }
      }),
    ),
  );
}

/** What the deployment has for each of the directives, or the server's own where it says nothing. */
async function resetDirectives(
  breaker: FaultInjector,
  configured: ReadonlyMap<string, string>,
  settings: ReadonlyMap<string, string>,
): Promise<void> {
  breaker.setStartupDirectives(configured);
  const back = [...settings.keys()]
    .map((name) => [name, configured.get(name) ?? SERVER_DEFAULTS.get(name)] as const)
    .flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
  if (back.length > 0) await tellAll(breaker, back);
}

/** Of directives that scenarios set. */
const SERVER_DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["appendonly", "no"],
  ["appendfsync", "everysec"],
  ["min-replicas-to-write", "0"],
  ["min-replicas-max-lag", "10"],
  ["cluster-node-timeout", String(DEFAULT_NODE_TIMEOUT_MS)],
]);
