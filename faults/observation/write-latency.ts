/** Latencies and errors, computed from the history of writes. Pure. */
import type { Write, WriteErrorCode, WriteOutcome } from "../writes/write-history";
import { isAcknowledged } from "../writes/write-history";

export interface WriteErrorCount {
  readonly error: WriteErrorCode;
  readonly outcome: Exclude<WriteOutcome["kind"], "acknowledged">;
  readonly count: number;
}

/** Number of writes with each error, the most frequent error first. */
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

/**
 * Latency of acknowledged writes. The latency is counted from the time at which the write was due, because a client
 * waits from this time on, whatever delays its write.
 */
export interface WriteLatency {
  readonly count: number;
  /** Median, milliseconds; null if no write was acknowledged. */
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

export type OutagePhase = "before" | "during" | "after";

/**
 * Latencies before, during and after the outage. The phase of a write is the phase in which it was due. `during` lasts
 * from the fault until the outage is over, or until the end of the scenario.
 */
export function latencyByPhase(
  writes: readonly Write[],
  faultMs: number,
  overMs: number | null,
): Record<OutagePhase, WriteLatency> {
  const endMs = overMs === null ? Infinity : faultMs + overMs;
  const dueIn = (fromMs: number, untilMs: number): WriteLatency =>
    writeLatency(writes.filter(({ dueMs }) => dueMs >= fromMs && dueMs < untilMs));
  return { before: dueIn(-Infinity, faultMs), during: dueIn(faultMs, endMs), after: dueIn(endMs, Infinity) };
}
