/** What the probes of a search say. Pure. */
import { Histogram } from "../../lib/histogram";
import type { Bottleneck } from "../measuring/bottleneck";
import { bottleneckOf } from "../measuring/bottleneck";
import { histogramOf } from "../results/rows";
import type { CapacityRecord, Warning, MeasurementRecord } from "../results/schema";
import { formatCount } from "../../lib/units";
import type { Objective } from "./objective";
import type { ProbeOutcome } from "./search";

/** Of what was offered, this part must be answered, whatever the percentile. */
const ANSWERED = 0.999;
/** Answers may come after the last intended time for so many times the objective and so much of the probe: longer, and a queue was growing. */
const OVERRUN = 2;
const GROWTH = 0.01;

export interface Probe extends ProbeOutcome {
  readonly record: MeasurementRecord;
  /** `holds (1.20 ms)` */
  readonly words: string;
}

/** @param seconds for how long the load was offered */
export function judgeProbe(record: MeasurementRecord, rate: number, objective: Objective, seconds: number): Probe {
  const answered = answeredPart([record]);
  const ms = offeredPercentile(histogramOf(record), answered, objective.quantile);
  const overrunMs = (record.client.seconds - seconds) * 1000;
  const grows = overrunMs > OVERRUN * objective.ms + GROWTH * seconds * 1000;
  const least = Math.max(ANSWERED, objective.quantile);
  const holds = ms <= objective.ms && answered >= least && !grows;
  const words = `${holds ? "holds" : "does not hold"} (${ms.toFixed(2)} ms${answered < least ? `, ${Number((answered * 100).toFixed(3))} % answered` : ""}${grows ? ", and the queue grows" : ""})`;
  return { rate, holds, record, words };
}

/** Of the lowest load above the answer that did not hold in most of its probes, one that did not. */
export function lowestFailing(probes: readonly Probe[], capacity: number): Probe | undefined {
  const above = probes.filter(({ rate }) => rate > capacity).sort((a, b) => a.rate - b.rate);
  return above.find(({ rate, holds }) => {
    const of = above.filter((each) => each.rate === rate);
    return !holds && 2 * of.filter((each) => each.holds).length <= of.length;
  });
}

/** Of what was offered in all, 0 … 1. */
function answeredPart(records: readonly MeasurementRecord[]): number {
  const offered = records.reduce((sum, { offering }) => sum + (offering?.offered ?? 0), 0);
  return offered === 0 ? 0 : Math.min(1, records.reduce((sum, { client }) => sum + client.requests, 0) / offered);
}

/** The percentile of all that was offered: what was never answered took longer than anything that was. Where it is one of those, the longest there is. */
function offeredPercentile(histogram: Histogram, answered: number, part: number): number {
  return histogram.percentileMs(answered <= part ? 1 : part / answered);
}

/** One for each rate, the probes of a rate merged by their counts; ascending. */
export function loadLatencyPoints(probes: readonly Probe[], part: number): CapacityRecord["points"] {
  const rates = [...new Set(probes.map(({ rate }) => rate))].sort((a, b) => a - b);
  return rates.map((rate) => {
    const of = probes.filter((each) => each.rate === rate);
    const histogram = Histogram.merge(of.map(({ record }) => histogramOf(record)));
    const answered = answeredPart(of.map(({ record }) => record));
    const mean = (figure: (record: MeasurementRecord) => number): number =>
      of.reduce((sum, { record }) => sum + figure(record), 0) / of.length;
    return {
      rate,
      probes: of.length,
      held: of.filter(({ holds }) => holds).length,
      achieved: mean(({ client }) => client.rps),
      ms: offeredPercentile(histogram, answered, part),
      p50Ms: offeredPercentile(histogram, answered, 0.5),
      p99Ms: offeredPercentile(histogram, answered, 0.99),
      lagP99Ms: Math.max(...of.map(({ record }) => record.offering?.lagP99Ms ?? 0)),
      histogram: histogram.encode(),
    };
  });
}

/** How often the same load held, offered in turn over as many connections and over twice as many. */
export interface Confirmation {
  readonly same: number;
  readonly more: number;
  /** Of so many each. */
  readonly of: number;
}

/** Of the lowest rate that did not hold: the client, where more connections hold it in most of its probes and as many do not. */
export function capacityBottleneck(
  failing: Probe,
  { same, more, of }: Confirmation,
): NonNullable<CapacityRecord["bottleneck"]> {
  if (2 * more > of && 2 * same <= of)
    return { at: "client", text: `over twice the connections ${formatCount(failing.rate)}/s hold` };
  const limit: Bottleneck = bottleneckOf(failing.record);
  return limit.at === "none"
    ? { at: "none", text: "neither side had run out of CPU: latency rose for another reason" }
    : limit;
}

/** Of the probes at the capacity: what was late or odd there makes the capacity look less than it is. */
export function capacityWarnings(probes: readonly Probe[], capacity: number): Warning[] {
  const there = probes
    .filter(({ rate, holds }) => rate === capacity || (!holds && rate <= capacity * 1.2))
    .flatMap(({ record }) => record.warnings);
  return [...new Map(there.map((warning) => [warning.code, warning])).values()].filter(
    ({ code }) => code !== "rate-missed",
  );
}
