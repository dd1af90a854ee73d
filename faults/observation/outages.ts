/** From a journal to outages, errors, latencies and a timeline. Pure. */
import type { WriteErrorCode, WriteOutcome, Write } from "../writes/write-history";

export interface Outage {
  /** The longest time between two acknowledgements in which writes were tried in vain, from the fault at the earliest; milliseconds, 0 where none was. */
  readonly longestMs: number;
  /** From the fault to the first acknowledgement after the last such time; null where writes still failed at the end. */
  readonly overMs: number | null;
}

/**
 * The outage of some writes, all of one shard or of the whole.
 *
 * Between two acknowledgements there is an outage when a write that was due in between was refused or got no answer. A write that
 * merely took long is a latency.
 */
export function outageOf(writes: readonly Write[], faultMs: number): Outage {
  const after = writes.filter(({ endedMs }) => endedMs >= faultMs);
  const acknowledgements = after
    .filter(isAcknowledged)
    .map(({ endedMs }) => endedMs)
    .sort((a, b) => a - b);
  const failures = after
    .filter((write) => !isAcknowledged(write))
    .map(({ dueMs }) => Math.max(dueMs, faultMs))
    .sort((a, b) => a - b);
  let longestMs = 0;
  let overMs: number | null = 0;
  let from = faultMs;
  let next = 0;
  for (const until of [...acknowledgements, Infinity]) {
    let failed = false;
    for (; next < failures.length && (failures[next] ?? 0) < until; next++) failed = true;
    if (failed) {
      const end = until === Infinity ? Math.max(...after.map(({ endedMs }) => endedMs)) : until;
      longestMs = Math.max(longestMs, end - from);
      overMs = until === Infinity ? null : until - faultMs;
    }
    from = until;
  }
  return { longestMs, overMs };
}

function isAcknowledged({ outcome }: Pick<Write, "outcome">): boolean {
  return outcome.kind === "acknowledged";
}

/** The whole is out for as long as the shard that is out longest. */
export function deploymentOutage(shards: readonly Outage[]): Outage {
  const over = shards.map(({ overMs }) => overMs);
  return {
    longestMs: Math.max(0, ...shards.map(({ longestMs }) => longestMs)),
    overMs: over.includes(null) ? null : Math.max(0, ...over.map((ms) => ms ?? 0)),
  };
}

export interface WriteErrorCount {
  readonly error: WriteErrorCode;
  readonly outcome: Exclude<WriteOutcome["kind"], "acknowledged">;
  readonly count: number;
}

/** The commonest first. */
export function countWriteErrors(writes: readonly Write[]): WriteErrorCount[] {
  const counts = new Map<string, WriteErrorCount>();
  for (const { outcome } of writes) {
    if (outcome.kind === "acknowledged") continue;
    const name = `${outcome.kind} ${outcome.error}`;
    counts.set(name, { error: outcome.error, outcome: outcome.kind, count: (counts.get(name)?.count ?? 0) + 1 });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

/** Of acknowledged writes, from when they were due: a client that must wait is a client that waits. */
export interface WriteLatency {
  readonly count: number;
  /** Milliseconds; null where there are none. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

export function writeLatency(writes: readonly Write[]): WriteLatency {
  const times = writes
    .filter(isAcknowledged)
    .map(({ dueMs, endedMs }) => endedMs - dueMs)
    .sort((a, b) => a - b);
  const at = (part: number): number | null =>
    times[Math.min(times.length - 1, Math.ceil(times.length * part) - 1)] ?? null;
  return { count: times.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: times.at(-1) ?? null };
}

export type OutagePhase = "before" | "during" | "after";

/** By when each write was due: before the fault, until the outage was over (or to the end), after that. */
export function latencyByPhase(
  writes: readonly Write[],
  faultMs: number,
  overMs: number | null,
): Record<OutagePhase, WriteLatency> {
  const end = overMs === null ? Infinity : faultMs + overMs;
  const due = (from: number, until: number): WriteLatency =>
    writeLatency(writes.filter(({ dueMs }) => dueMs >= from && dueMs < until));
  return { before: due(-Infinity, faultMs), during: due(faultMs, end), after: due(end, Infinity) };
}

/** Counts of writes in steps of equal length. */
export interface Timeline {
  /** Of the first step's beginning, milliseconds from the fault; negative before it. */
  readonly fromMs: number;
  readonly stepMs: number;
  readonly acknowledged: readonly number[];
  readonly failed: readonly number[];
  readonly unknown: readonly number[];
}

const MOST_STEPS = 600;
const STEP_MS = 50;

/** By when writes ended. */
export function timelineOf(writes: readonly Write[], faultMs: number): Timeline {
  const ends = writes.map(({ endedMs }) => endedMs - faultMs);
  const first = ends.reduce((a, b) => Math.min(a, b), 0);
  const last = ends.reduce((a, b) => Math.max(a, b), 0);
  const stepMs = STEP_MS * Math.max(1, Math.ceil((last - first) / STEP_MS / MOST_STEPS));
  const fromMs = Math.floor(first / stepMs) * stepMs;
  const steps = Math.floor((last - fromMs) / stepMs) + 1;
  const counts: Record<WriteOutcome["kind"], number[]> = {
    acknowledged: zeros(steps),
    failed: zeros(steps),
    unknown: zeros(steps),
  };
  for (const [index, { outcome }] of writes.entries()) {
    const step = Math.floor(((ends[index] ?? 0) - fromMs) / stepMs);
    const list = counts[outcome.kind];
    list[step] = (list[step] ?? 0) + 1;
  }
  return { fromMs, stepMs, ...counts };
}

function zeros(count: number): number[] {
  return new Array<number>(count).fill(0);
}
