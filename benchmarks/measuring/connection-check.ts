/**
 * Checks whether a closed loop had too few connections. If CPU use does not explain the rate of a load, the check sends
 * the load again over twice as many connections. If the rate is higher with more connections, the number of connections
 * was the bottleneck.
 */
import type { ReportProgress } from "../../lib/progress";
import { formatCount } from "../../lib/units";
import type { MeasurementRecord, Warning } from "../results/schema";
import type { BottleneckEvidence } from "../warnings/bottleneck";
import { bottleneckOf } from "../warnings/bottleneck";
import type { MeasuredLoad } from "./measure";

/** Number of connections in a check, divided by the number of connections in the measurement. */
export const CHECK_CONNECTION_FACTOR = 2;
/** Longest duration of a check, seconds. */
const CHECK_SECONDS = 2;
/**
 * More connections count as faster only if they multiply the rate by more than this factor. A smaller difference can be
 * chance. The rate of the reference load is allowed to vary by the same factor.
 */
const GAIN_LIMIT = 1.1;
/** Shortest measurement in which a bottleneck can be found, seconds. */
const MIN_SECONDS = 1;
/**
 * Share of MIN_SECONDS that a measurement must last. The share is below 1, because a measurement can end a little
 * early.
 */
const EARLY_END = 0.98;

/**
 * Whether the connections of a load must be checked. This is the case if the load is a closed loop at full speed, ran
 * long enough, and has a rate that CPU use does not explain.
 */
export function needsConnectionCheck(record: BottleneckEvidence): boolean {
  if (record.rate !== null || record.offering !== null) return false;
  return record.client.seconds >= MIN_SECONDS * EARLY_END && bottleneckOf(record).at === "none";
}

/**
 * Warns if the load is faster with more connections.
 * @param rate requests per second of the measurement
 * @param checked requests per second over CHECK_CONNECTION_FACTOR times the connections
 */
export function connectionWarnings(rate: number, checked: number): Warning[] {
  if (checked <= rate * GAIN_LIMIT) return [];
  const gain = Math.round((checked / rate - 1) * 100);
  const faster = `with twice the connections the rate was ${formatCount(Math.round(checked))}/s, ${gain} % more`;
  return [
    {
      code: "few-connections",
      text: `${faster}, and there was CPU to spare, so the number of connections was the bottleneck`,
    },
  ];
}

/**
 * Connection checks of a series of measurements. Each load is checked once on each deployment, because the bottleneck
 * of a load is the same in every round.
 */
export class ConnectionChecks {
  /** Rates over more connections, requests per second, by deployment and test. */
  readonly #rates = new Map<string, number>();

  constructor(private readonly progress: ReportProgress) {}

  /**
   * Checks the connections of a load, unless the load was already checked on this deployment.
   * @param label name of the measurement, for progress
   * @param repeat sends the same load over CHECK_CONNECTION_FACTOR times the connections, for the given number of
   *   seconds
   * @returns the record, with a warning if more connections are faster
   */
  async check(
    label: string,
    record: MeasurementRecord,
    repeat: (seconds: number) => Promise<MeasuredLoad>,
  ): Promise<MeasurementRecord> {
    if (!needsConnectionCheck(record)) return record;
    const key = `${record.deployment} ${record.test}`;
    let rate = this.#rates.get(key);
    if (rate === undefined) {
      this.progress(`${label}: no bottleneck found; repeating the measurement with twice the connections`, true);
      rate = (await repeat(Math.min(CHECK_SECONDS, record.client.seconds))).report.rate;
      this.#rates.set(key, rate);
    }
    return { ...record, warnings: [...record.warnings, ...connectionWarnings(record.client.rps, rate)] };
  }
}
