/** Whether the rate that is reported is the one the servers saw. Pure. */
import type { CounterSample } from "../../benchmarks/measuring/counters";
import type { MeasuredLoad } from "../../benchmarks/measuring/measure";
import type { MeasurementRecord } from "../../benchmarks/results/schema";
import { median } from "../../lib/statistics/median";
import type { BenchRow } from "./row";
import { singleRow, atMost } from "./row";

export const CLOCK = "clock";
/** Per cent. */
const TARGET = atMost(1);

/** What one measurement's rate is off, as parts of the servers'. */
export interface ClockReading {
  /** By the servers' counts, over the seconds that the tool says it took: what every record carries. */
  readonly byCounts: number;
  /** By the servers' counts and the servers' own clocks; undefined where a run had too few samples. */
  readonly byClocks: number | undefined;
}

export function readingOf(
  { servers, client }: MeasurementRecord,
  { counters }: Pick<MeasuredLoad, "counters">,
): ClockReading {
  const primaries = [...counters].flatMap(([node, samples]) =>
    node.role === "primary" && typeof samples !== "string" ? [ownRate(samples)] : [],
  );
  const known = primaries.flatMap((rate) => rate ?? []);
  const sum = known.reduce((total, rate) => total + rate, 0);
  return {
    byCounts: servers?.disagreement ?? 1,
    byClocks: known.length < primaries.length || sum === 0 ? undefined : client.rps / sum - 1,
  };
}

/**
 * Calls per second of a load that begins after the first sample and ends before the last, from nothing but the
 * server's samples: when it began and ended is read off the rate between the samples next to that.
 */
export function ownRate(samples: readonly CounterSample[]): number | undefined {
  const first = samples[0];
  const last = samples.at(-1);
  const during = samples.filter(({ calls }) => calls > (first?.calls ?? 0) && calls < (last?.calls ?? 0));
  const [a, b] = during;
  const [y, z] = during.slice(-2);
  if (
    first === undefined ||
    last === undefined ||
    a === undefined ||
    b === undefined ||
    y === undefined ||
    z === undefined
  )
    return undefined;
  const rate = (from: CounterSample, to: CounterSample): number => (to.calls - from.calls) / (to.atMs - from.atMs);
  const beganMs = a.atMs - (a.calls - first.calls) / rate(a, b);
  const endedMs = z.atMs + (last.calls - z.calls) / rate(y, z);
  return (1000 * (last.calls - first.calls)) / (endedMs - beganMs);
}

/**
 * The counts alone would not show a tool that stretches its time, the clocks alone are blurred where a load begins and
 * ends, so the row is the worse of the worst by counts and the median by clocks.
 */
export function clockRow(readings: readonly ClockReading[]): BenchRow {
  const byCounts = Math.max(...readings.map((each) => Math.abs(each.byCounts)));
  const clocks = readings.flatMap((each) => each.byClocks ?? []);
  const byClocks = clocks.length === 0 ? 1 : median(clocks);
  const what = `reported rate against the servers' own counters: ${percent(byCounts)} the worst of ${readings.length} records, ${percent(byClocks)} the median by the servers' own clocks too`;
  return singleRow({ id: CLOCK, what, unit: "%" }, 100 * Math.max(byCounts, Math.abs(byClocks)), TARGET);
}

function percent(part: number): string {
  return `${(100 * part).toFixed(2)} %`;
}
