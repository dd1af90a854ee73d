/** Outages, computed from the history of writes. Pure. */
import type { Write } from "../writes/write-history";
import { isAcknowledged } from "../writes/write-history";

export interface Outage {
  /**
   * The longest time after the fault in which writes failed and no write was acknowledged, milliseconds; 0 if there was
   * no outage.
   */
  readonly longestMs: number;
  /**
   * Time from the fault to the first acknowledgement after the last outage, milliseconds; 0 if there was no outage;
   * null if writes still failed at the end.
   */
  readonly overMs: number | null;
}

/**
 * The outage that a list of writes shows, such as the writes to one shard.
 *
 * The time between two acknowledgements is an outage if a write that was due in this time failed or got no reply. If
 * all writes that were due in this time were acknowledged late, the time counts as latency and not as an outage.
 */
export function outageOf(writes: readonly Write[], faultMs: number): Outage {
  const after = writes.filter(({ endedMs }) => endedMs >= faultMs);
  const acknowledgements = sorted(after.filter(isAcknowledged).map(({ endedMs }) => endedMs));
  const failed = after.filter((write) => !isAcknowledged(write));
  const failures = sorted(failed.map(({ dueMs }) => Math.max(dueMs, faultMs)));
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

function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** The outage of a deployment: the longest outage of any shard, and the end of the last outage. */
export function deploymentOutage(shards: readonly Outage[]): Outage {
  const longestMs = Math.max(0, ...shards.map(({ longestMs }) => longestMs));
  const ends = shards.map(({ overMs }) => overMs);
  return { longestMs, overMs: ends.includes(null) ? null : Math.max(0, ...ends.map((ms) => ms ?? 0)) };
}
