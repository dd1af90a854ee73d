/**
 * Checks whether a closed loop had too few connections. Where no CPU explains its rate, the same load is sent once more
 * over twice as many connections: a higher rate says that their number was the bottleneck.
 */
import type { ReportProgress } from "../../lib/progress";
import { formatCount } from "../../lib/units";
import type { MeasurementRecord, Warning } from "../results/schema";
import type { BottleneckEvidence } from "../warnings/bottleneck";
import { bottleneckOf } from "../warnings/bottleneck";
import type { MeasuredLoad } from "./measure";

/** Connections of a check, for each connection of the measurement. */
export const CHECK_CONNECTION_FACTOR = 2;
/** Longest check, seconds. */
const CHECK_SECONDS = 2;
/** Ratio of rates from which more connections count as faster: a reference load may vary as much. */
const GAIN_LIMIT = 1.1;
/** Seconds below which a measurement tells nothing about its bottleneck. */
const MIN_SECONDS = 1;
/** A measurement that was asked for MIN_SECONDS may end this much early. */
const EARLY_END = 0.98;

/** Whether a closed loop at full speed ran long enough and has no bottleneck that CPU explains. */
export function needsConnectionCheck(record: BottleneckEvidence): boolean {
  if (record.rate !== null || record.offering !== null) return false;
  return record.client.seconds >= MIN_SECONDS * EARLY_END && bottleneckOf(record).at === "none";
}

/**
 * A warning where more connections are faster.
 * @param rate requests per second of the measurement
 * @param checked requests per second over CHECK_CONNECTION_FACTOR times the connections
 */
export function connectionWarnings(rate: number, checked: number): Warning[] {
  if (checked <= rate * GAIN_LIMIT) return [];
  const gain = Math.round((checked / rate - 1) * 100);
  const faster = `over twice the connections the rate was ${formatCount(Math.round(checked))}/s, ${gain} % more`;
  return [
    { code: "few-connections", text: `${faster}, with CPU to spare: the number of connections was the bottleneck` },
  ];
}

/** Checks of one series. Each load is checked once on each deployment: its bottleneck is the same in every round. */
export class ConnectionChecks {
  /** Requests per second over more connections, by deployment and test. */
  readonly #rates = new Map<string, number>();

  constructor(private readonly progress: ReportProgress) {}

  /**
   * @param label what was measured, for progress
   * @param repeat sends the same load over CHECK_CONNECTION_FACTOR times the connections, for so many seconds
   * @returns the record, with a warning where more connections are faster
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
      this.progress(`${label}: no bottleneck found; repeating it over twice the connections`, true);
      rate = (await repeat(Math.min(CHECK_SECONDS, record.client.seconds))).report.rate;
      this.#rates.set(key, rate);
    }
    return { ...record, warnings: [...record.warnings, ...connectionWarnings(record.client.rps, rate)] };
  }
}
