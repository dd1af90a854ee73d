/**
 * Judges the probes of a search, and draws from them the points, the bottleneck and the warnings of a capacity. Pure.
 */
import { compact } from "../../lib/compact";
import { Histogram } from "../../lib/histogram";
import { formatCount } from "../../lib/units";
import { bottleneckOf } from "../warnings/bottleneck";
import { histogramOf } from "../results/rows";
import type { CapacityRecord, MeasurementRecord, Warning } from "../results/schema";
import type { Objective } from "./objective";
import type { ProbeOutcome } from "./search";

/** Share of the offered requests that must be answered, whatever the percentile. */
const MIN_ANSWERED = 0.999;
/**
 * The last replies may come after the last intended time by so many times the objective, and by a share of the probe's
 * length. Later replies mean that a queue was growing.
 */
const OVERRUN_FACTOR = 2;
const OVERRUN_SHARE = 0.01;
/** Warnings count up to this multiple of the capacity. */
const NEAR_CAPACITY = 1.2;

/** A probe with its record. */
export interface Probe extends ProbeOutcome {
  readonly record: MeasurementRecord;
  /** For progress: `holds (1.20 ms)`. */
  readonly words: string;
}

/**
 * Decides whether an objective held.
 * @param rate requests offered per second
 * @param seconds for which the load was offered
 */
export function judgeProbe(record: MeasurementRecord, rate: number, objective: Objective, seconds: number): Probe {
  const answered = answeredShare([record]);
  const ms = offeredPercentile(histogramOf(record), answered, objective.quantile);
  const overrunMs = (record.client.seconds - seconds) * 1000;
  const queueGrows = overrunMs > OVERRUN_FACTOR * objective.ms + OVERRUN_SHARE * seconds * 1000;
  const tooFewAnswers = answered < Math.max(MIN_ANSWERED, objective.quantile);
  const holds = ms <= objective.ms && !tooFewAnswers && !queueGrows;
  const details = [
    `${ms.toFixed(2)} ms`,
    tooFewAnswers ? `${Number((answered * 100).toFixed(3))} % answered` : undefined,
    queueGrows ? "the queue grows" : undefined,
  ];
  return { rate, holds, record, words: `${holds ? "holds" : "does not hold"} (${compact(details).join(", ")})` };
}

/** A failed probe of the lowest rate above the capacity that did not hold in most of its probes. */
export function lowestFailing(probes: readonly Probe[], capacity: number): Probe | undefined {
  const above = probes.filter(({ rate }) => rate > capacity).sort((a, b) => a.rate - b.rate);
  return above.find(({ rate, holds }) => {
    const ofRate = above.filter((each) => each.rate === rate);
    return !holds && 2 * ofRate.filter((each) => each.holds).length <= ofRate.length;
  });
}

/** Share of all offered requests that were answered, 0 to 1. */
function answeredShare(records: readonly MeasurementRecord[]): number {
  const offered = records.reduce((sum, { offering }) => sum + (offering?.offered ?? 0), 0);
  const answered = records.reduce((sum, { client }) => sum + client.requests, 0);
  return offered === 0 ? 0 : Math.min(1, answered / offered);
}

/**
 * A percentile of all offered requests: those without an answer count as slower than any that has one. Where the
 * percentile falls among them, the longest latency is the best known bound.
 */
function offeredPercentile(histogram: Histogram, answered: number, quantile: number): number {
  return histogram.percentileMs(answered <= quantile ? 1 : quantile / answered);
}

/** Latency by load: one point for each rate, with the probes of that rate merged; ascending. */
export function loadLatencyPoints(probes: readonly Probe[], quantile: number): CapacityRecord["points"] {
  const rates = [...new Set(probes.map(({ rate }) => rate))].sort((a, b) => a - b);
  return rates.map((rate) => {
    const ofRate = probes.filter((each) => each.rate === rate);
    const records = ofRate.map(({ record }) => record);
    const histogram = Histogram.merge(records.map((record) => histogramOf(record)));
    const answered = answeredShare(records);
    return {
      rate,
      probes: ofRate.length,
      held: ofRate.filter(({ holds }) => holds).length,
      achieved: records.reduce((sum, { client }) => sum + client.rps, 0) / records.length,
      ms: offeredPercentile(histogram, answered, quantile),
      p50Ms: offeredPercentile(histogram, answered, 0.5),
      p99Ms: offeredPercentile(histogram, answered, 0.99),
      lagP99Ms: Math.max(...records.map(({ offering }) => offering?.lagP99Ms ?? 0)),
      histogram: histogram.encode(),
    };
  });
}

/** How often a load held that was offered in turn over as many connections and over twice as many. */
export interface Confirmation {
  readonly sameConnections: number;
  readonly moreConnections: number;
  /** Probes of each. */
  readonly of: number;
}

/**
 * The bottleneck at the lowest rate that failed: the client, where the load holds over more connections and not over as
 * many.
 */
export function capacityBottleneck(
  failing: Probe,
  { sameConnections, moreConnections, of }: Confirmation,
): NonNullable<CapacityRecord["bottleneck"]> {
  if (2 * moreConnections > of && 2 * sameConnections <= of) {
    return { at: "client", text: `${formatCount(failing.rate)}/s hold over twice the connections` };
  }
  const bottleneck = bottleneckOf(failing.record);
  if (bottleneck.at !== "none") return bottleneck;
  return { at: "none", text: "both sides had CPU to spare: latency rose for another reason" };
}

/** Warnings of the probes at the capacity, and of those just above it that failed: both may have lowered it. */
export function capacityWarnings(probes: readonly Probe[], capacity: number): Warning[] {
  const deciding = probes.filter(
    ({ rate, holds }) => rate === capacity || (!holds && rate <= capacity * NEAR_CAPACITY),
  );
  const warnings = deciding.flatMap(({ record }) => record.warnings).filter(({ code }) => code !== "rate-missed");
  return [...new Map(warnings.map((warning) => [warning.code, warning])).values()];
}
