/** Each load generator records longer latencies as the longest one that it knows. */
import { formatCount, formatMs } from "../../lib/units";
import type { MeasurementRecord } from "./measurement-schema";

type LoadGenerator = MeasurementRecord["loadGenerator"];

export const LATENCY_LIMIT_MS: Readonly<Record<LoadGenerator, number>> = {
  "valkey-benchmark": 3_000,
  memtier: 60_000,
  "open-loop": 3_600_000,
};

/** Such as `1.234 ms`, or `≥ 3,000 ms` if the load generator can have recorded a longer latency. */
export function formatLatency(loadGenerator: LoadGenerator, milliseconds: number, format = formatMs): string {
  const limit = LATENCY_LIMIT_MS[loadGenerator];
  return milliseconds < limit ? `${format(milliseconds)} ms` : `≥ ${formatCount(limit)} ms`;
}
