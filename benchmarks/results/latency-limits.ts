/**
 * Latencies that are known only to be at least a limit. Each load generator records longer latencies as the longest one
 * that it knows, and the open-loop generator gives requests up after a time.
 */
import { formatCount, formatMs } from "../../lib/units";
import type { MeasurementRecord } from "./measurement-schema";

type LoadGenerator = MeasurementRecord["loadGenerator"];
type LimitedRecord = Pick<MeasurementRecord, "loadGenerator" | "offering" | "timeoutMs" | "client">;

export const LATENCY_LIMIT_MS: Readonly<Record<LoadGenerator, number>> = {
  "valkey-benchmark": 3_000,
  memtier: 60_000,
  "open-loop": 3_600_000,
};

/** Number of requests without a latency, which is at least the limit of the record. */
export function timedOut({ offering }: Pick<MeasurementRecord, "offering">): number {
  return (offering?.unknown["timeout"] ?? 0) + (offering?.failed["unavailable"] ?? 0);
}

/** Every latency from this limit on, milliseconds, can stand for a longer one. */
export function latencyLimitMs(records: readonly LimitedRecord[]): number {
  return Math.min(
    ...records.map((record) =>
      // Without a recorded time, timed-out requests took at least as long as the slowest answer.
      timedOut(record) === 0 ? LATENCY_LIMIT_MS[record.loadGenerator] : (record.timeoutMs ?? record.client.maxMs),
    ),
  );
}

/** Such as `1.234 ms`, or `≥ 3,000 ms` from the limit on. */
export function formatLatency(limitMs: number, milliseconds: number, format = formatMs): string {
  return milliseconds < limitMs ? `${format(milliseconds)} ms` : `≥ ${formatCount(limitMs)} ms`;
}
