import { compact } from "../../lib/compact";
import { Histogram } from "../../lib/histogram";
import { formatCount } from "../../lib/units";
import { bottleneckOf } from "../warnings/bottleneck";
import { histogramOf } from "../results/rows";
import type { CapacityRecord, MeasurementRecord, Warning } from "../results/schema";
import type { Objective } from "./objective";
import type { ProbeOutcome } from "./search";

/** If fewer offered requests are answered, the load misses its objective, whichever percentile that names. */
const MIN_ANSWERED = 0.999;
/** Times the objective's latency, plus a share of the probe's duration; a later last reply shows a growing queue. */
const OVERRUN_FACTOR = 2;
const OVERRUN_SHARE = 0.01;
/** The warnings of a failed probe count only if its rate is at most this multiple of the capacity. */
const NEAR_CAPACITY = 1.2;

export interface Probe extends ProbeOutcome {
  readonly record: MeasurementRecord;
  readonly words: string;
}

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
  return { rate, holds, record, words: `${holds ? "meets" : "misses"} the objective (${compact(details).join(", ")})` };
}

/** Shows what limits the deployment. A rate has failed if it missed the objective in at least half of its probes. */
export function lowestFailing(probes: readonly Probe[], capacity: number): Probe | undefined {
  const above = probes.filter(({ rate }) => rate > capacity).sort((a, b) => a.rate - b.rate);
  return above.find(({ rate, holds }) => {
    const ofRate = above.filter((each) => each.rate === rate);
    return !holds && 2 * ofRate.filter((each) => each.holds).length <= ofRate.length;
  });
}

function answeredShare(records: readonly MeasurementRecord[]): number {
  const offered = records.reduce((sum, { offering }) => sum + (offering?.offered ?? 0), 0);
  const answered = records.reduce((sum, { client }) => sum + client.requests, 0);
  return offered === 0 ? 0 : Math.min(1, answered / offered);
}

/** Requests without an answer count as slower than all others; their latency is at least the longest measured one. */
function offeredPercentile(histogram: Histogram, answered: number, quantile: number): number {
  return histogram.percentileMs(answered <= quantile ? 1 : quantile / answered);
}

/** Each rate has one point, which merges all probes of this rate. */
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

export interface Confirmation {
  readonly sameConnections: number;
  readonly moreConnections: number;
  /** Probes with the usual number of connections, and again so many with twice as many. */
  readonly of: number;
}

/** The client, if the deployment meets the objective at this rate only with more connections. */
export function capacityBottleneck(
  failing: Probe,
  { sameConnections, moreConnections, of }: Confirmation,
): NonNullable<CapacityRecord["bottleneck"]> {
  if (2 * moreConnections > of && 2 * sameConnections <= of) {
    return {
      at: "client",
      text: `with twice the connections, the deployment meets the objective at ${formatCount(failing.rate)}/s`,
    };
  }
  const bottleneck = bottleneckOf(failing.record);
  if (bottleneck.at !== "none") return bottleneck;
  return { at: "none", text: "servers and load generator had CPU to spare, so latency rose for a different reason" };
}

/** If the capacity is too low, one of these warnings can name the reason. */
export function capacityWarnings(probes: readonly Probe[], capacity: number): Warning[] {
  const deciding = probes.filter(
    ({ rate, holds }) => rate === capacity || (!holds && rate <= capacity * NEAR_CAPACITY),
  );
  const warnings = deciding.flatMap(({ record }) => record.warnings).filter(({ code }) => code !== "rate-missed");
  return [...new Map(warnings.map((warning) => [warning.code, warning])).values()];
}
