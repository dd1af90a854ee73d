/** Compares the reported rate with the servers' own counters and clocks. Pure. */
import type { CounterSample } from "../../../benchmarks/measuring/counters";
import type { MeasuredLoad } from "../../../benchmarks/measuring/measure";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import { median } from "../../../lib/statistics/median";
import type { BenchRow } from "../row";
import { singleRow, atMost } from "../row";

/** Id of the row. */
export const CLOCK = "clock";
/** Percent. */
const TARGET = atMost(1);

/** How far one measurement's rate is from the servers', as a share of theirs. */
export interface ClockReading {
  /** By the servers' counts, over the time that the load generator reports: what every record has. */
  readonly byCounts: number;
  /** By the servers' counts and their own clocks; undefined where a run has too few samples. */
  readonly byClocks: number | undefined;
}

/** The errors of one measurement. */
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
 * Calls per second of a load that begins after the first sample and ends before the last, from the server's samples
 * alone. Its beginning and end follow from the rates between the samples next to them.
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
 * The row is the larger of two errors: the largest by counts and the median by clocks. Counts do not show a load
 * generator that reports a wrong time; clocks are inexact where a load begins and ends.
 */
export function clockRow(readings: readonly ClockReading[]): BenchRow {
  const byCounts = Math.max(...readings.map((each) => Math.abs(each.byCounts)));
  const clocks = readings.flatMap((each) => each.byClocks ?? []);
  const byClocks = clocks.length === 0 ? 1 : median(clocks);
  const worst = `${percent(byCounts)} at worst in ${readings.length} records`;
  const clocksText = `median by their clocks ${percent(byClocks)}`;
  const what = `error of the reported rate by the servers' counters: ${worst}; ${clocksText}`;
  return singleRow({ id: CLOCK, what, unit: "%" }, 100 * Math.max(byCounts, Math.abs(byClocks)), TARGET);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}
