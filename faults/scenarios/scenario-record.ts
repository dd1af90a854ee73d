import type { Mode } from "../../valkey/node";
import { type ScenarioRecord, MAX_LOST_WRITES_LISTED } from "./record-schema";
import { formatRanges } from "../../valkey/topology/slots";
import type { Shard } from "../../valkey/verification/shards";
import type { WriteAccounting } from "../writes/accounting";
import { describeFault } from "../plan/fault";
import type { Scenario } from "../plan/scenario";
import type { FaultPlan } from "../plan/fault-plan";
import { type Write, type WriteOutcome, type WriteErrorCode, isAcknowledged } from "../writes/write-history";
import type { LastUnhealthyTimes } from "../observation/deployment-observer";
import type { StateChange } from "../observation/observed-states";
import type { ScenarioEvent } from "./observe";

/** A timeline that would need more steps has longer steps than STEP_MS. */
const MAX_STEPS = 600;
const STEP_MS = 50;

export interface Recovery {
  readonly repaired: boolean;
  readonly verifiedMs: number | null;
  readonly recoveryFailure: string | null;
}

export interface Healing {
  readonly assisted: boolean;
}

/** All times except `startedAt` are in milliseconds of performance.now. */
export interface Injection {
  readonly startedAt: Date;
  /** The first half of the undisturbed writes is a warm-up and is not recorded. */
  readonly steadyMs: number;
  readonly faultMs: number;
}

/** Changes and events are relative to the fault; all other times in milliseconds of performance.now. */
interface ScenarioObservations extends Injection, Healing, Recovery {
  readonly plan: FaultPlan;
  readonly shards: readonly Shard[];
  readonly nodeTimeoutMs: number | null;
  readonly writes: readonly Write[];
  readonly accounting: WriteAccounting;
  readonly last: Readonly<LastUnhealthyTimes>;
  readonly changes: readonly StateChange[];
  readonly events: readonly ScenarioEvent[];
}

interface ObservedScenario {
  readonly deployment: string;
  readonly mode: Mode;
  readonly scenario: Scenario;
  readonly round: number;
  readonly observations: ScenarioObservations;
}

export function scenarioRecord(observed: ObservedScenario): ScenarioRecord {
  const { deployment, mode, scenario, round, observations } = observed;
  const { faultMs, steadyMs, verifiedMs, plan, shards, writes, accounting, last } = observations;
  const { load } = scenario;
  const shardOutage = (index: number): Outage => {
    const ofShard = writes.filter(({ shard }) => shard === index);
    return outageOf(ofShard, faultMs);
  };
  const outages = shards.map((_shard, index) => shardOutage(index));
  const outage = deploymentOutage(outages);
  const sinceFault = (atMs: number | undefined): number =>
    atMs === undefined ? 0 : rounded(Math.max(0, atMs - faultMs));
  const isVerified = verifiedMs !== null;
  const steadyWrites = writes.filter(({ dueMs }) => dueMs >= steadyMs);
  return {
    id: `${scenario.name}-${deployment}-${round}`,
    scenario: scenario.name,
    fault: scenario.fault.kind,
    description: describeFault(scenario.fault),
    deployment,
    mode,
    round,
    startedAt: observations.startedAt.toISOString(),
    victims: [...plan.victims],
    warnings: [...plan.warnings],
    nodeTimeoutMs: observations.nodeTimeoutMs,
    settings: Object.fromEntries(scenario.settings),
    load: {
      rate: load.rate,
      bytes: load.bytes,
      timeoutMs: load.timeoutMs,
      replicas: load.acknowledgement.replicas,
    },
    outage: roundedOutage(outage),
    shards: shards.map(({ primary, slots }, index) => ({
      primary: primary ?? null,
      slots: formatRanges(slots),
      ...roundedOutage(outages[index] ?? { longestMs: 0, overMs: 0 }),
    })),
    assisted: observations.assisted,
    okMs: outage.overMs === null ? null : sinceFault(last.notServing),
    redundantMs: isVerified ? sinceFault(last.notRedundant) : null,
    zoneSafeMs: isVerified ? sinceFault(last.notZoneSafe) : null,
    verifiedMs: isVerified ? sinceFault(verifiedMs) : null,
    recoveryFailure: observations.recoveryFailure,
    repaired: observations.repaired,
    writes: {
      due: writes.length,
      acknowledged: accounting.acknowledged,
      failed: accounting.failed,
      unknown: accounting.unknown,
      redirected: writes.filter(({ redirects }) => redirects > 0).length,
    },
    errors: countWriteErrors(writes),
    latency: latencyByPhase(steadyWrites, faultMs, outage.overMs),
    lost: { count: accounting.lost.length, writes: accounting.lost.slice(0, MAX_LOST_WRITES_LISTED) },
    unknownDone: accounting.unknownDone,
    undecided: accounting.undecided,
    anomalies: [...accounting.anomalies],
    unread: accounting.unread,
    unreadReason: accounting.unreadReason ?? null,
    timeline: asRecorded(timelineOf(writes, faultMs)),
    states: observations.changes.map((change) => ({ ...change, atMs: rounded(change.atMs) })),
    events: observations.events.map(({ atMs, what }) => ({ atMs: rounded(atMs), what })),
  };
}

function asRecorded(timeline: Timeline): ScenarioRecord["timeline"] {
  const { fromMs, stepMs, acknowledged, failed, unknown } = timeline;
  return { fromMs, stepMs, acknowledged: [...acknowledged], failed: [...failed], unknown: [...unknown] };
}

function roundedOutage({ longestMs, overMs }: Outage): ScenarioRecord["outage"] {
  return { longestMs: rounded(longestMs), overMs: overMs === null ? null : rounded(overMs) };
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}

interface Outage {
  /** In which writes failed and none was acknowledged; 0 without an outage. */
  readonly longestMs: number;
  /** To the first acknowledgement after the last outage; 0 without one; null if writes still failed at the end. */
  readonly overMs: number | null;
}

/** Between two acknowledgements, if a write due then failed. If all were late, it is latency. */
export function outageOf(writes: readonly Write[], faultMs: number): Outage {
  const after = writes.filter(({ endedMs }) => endedMs >= faultMs);
  const acknowledgements = ascending(after.filter(isAcknowledged).map(({ endedMs }) => endedMs));
  const failed = after.filter((write) => !isAcknowledged(write));
  const failures = ascending(failed.map(({ dueMs }) => Math.max(dueMs, faultMs)));
  const lastEndMs = after.reduce((last, { endedMs }) => Math.max(last, endedMs), faultMs);
  let longestMs = 0;
  let overMs: number | null = 0;
  let fromMs = faultMs;
  let next = 0;
  for (const untilMs of [...acknowledgements, Infinity]) {
    const first = next;
    while (next < failures.length && (failures[next] ?? 0) < untilMs) next++;
    if (next > first) {
      longestMs = Math.max(longestMs, Math.min(untilMs, lastEndMs) - fromMs);
      overMs = untilMs === Infinity ? null : untilMs - faultMs;
    }
    fromMs = untilMs;
  }
  return { longestMs, overMs };
}

function ascending(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

export function deploymentOutage(shards: readonly Outage[]): Outage {
  const longestMs = Math.max(0, ...shards.map(({ longestMs }) => longestMs));
  const ends = shards.map(({ overMs }) => overMs);
  return { longestMs, overMs: ends.includes(null) ? null : Math.max(0, ...ends.map((ms) => ms ?? 0)) };
}

interface Timeline {
  /** It is negative if the step begins before the fault. */
  readonly fromMs: number;
  readonly stepMs: number;
  readonly acknowledged: readonly number[];
  readonly failed: readonly number[];
  readonly unknown: readonly number[];
}

export function timelineOf(writes: readonly Write[], faultMs: number): Timeline {
  const ends = writes.map(({ endedMs }) => endedMs - faultMs);
  const first = ends.reduce((a, b) => Math.min(a, b), 0);
  const last = ends.reduce((a, b) => Math.max(a, b), 0);
  const stepMs = STEP_MS * Math.max(1, Math.ceil((last - first) / STEP_MS / MAX_STEPS));
  const fromMs = Math.floor(first / stepMs) * stepMs;
  const steps = Math.floor((last - fromMs) / stepMs) + 1;
  const zeros = (): number[] => new Array<number>(steps).fill(0);
  const counts: Record<WriteOutcome["kind"], number[]> = { acknowledged: zeros(), failed: zeros(), unknown: zeros() };
  for (const [index, { outcome }] of writes.entries()) {
    const step = Math.floor(((ends[index] ?? 0) - fromMs) / stepMs);
    const list = counts[outcome.kind];
    list[step] = (list[step] ?? 0) + 1;
  }
  return { fromMs, stepMs, ...counts };
}

interface WriteErrorCount {
  readonly error: WriteErrorCode;
  readonly outcome: Exclude<WriteOutcome["kind"], "acknowledged">;
  readonly count: number;
}

export function countWriteErrors(writes: readonly Write[]): WriteErrorCount[] {
  const counts = new Map<string, WriteErrorCount>();
  for (const { outcome } of writes) {
    if (outcome.kind === "acknowledged") continue;
    const name = `${outcome.kind} ${outcome.error}`;
    const count = (counts.get(name)?.count ?? 0) + 1;
    counts.set(name, { error: outcome.error, outcome: outcome.kind, count });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

/** Counted from when a write was due, because a client waits from then on, whatever delays its write. */
interface WriteLatency {
  readonly count: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

function writeLatency(writes: readonly Write[]): WriteLatency {
  const times = writes
    .filter(isAcknowledged)
    .map(({ dueMs, endedMs }) => endedMs - dueMs)
    .sort((a, b) => a - b);
  const percentile = (part: number): number | null => times[Math.ceil(times.length * part) - 1] ?? null;
  return { count: times.length, p50Ms: percentile(0.5), p99Ms: percentile(0.99), maxMs: times.at(-1) ?? null };
}

/** By when a write was due. `during` lasts from the fault until the outage is over, or until the end. */
export function latencyByPhase(
  writes: readonly Write[],
  faultMs: number,
  overMs: number | null,
): Record<"before" | "during" | "after", WriteLatency> {
  const endMs = overMs === null ? Infinity : faultMs + overMs;
  const dueIn = (fromMs: number, untilMs: number): WriteLatency =>
    writeLatency(writes.filter(({ dueMs }) => dueMs >= fromMs && dueMs < untilMs));
  return { before: dueIn(-Infinity, faultMs), during: dueIn(faultMs, endMs), after: dueIn(endMs, Infinity) };
}
