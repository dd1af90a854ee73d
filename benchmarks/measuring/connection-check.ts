/** Repeats a load that CPU use does not explain over twice the connections: if faster, they were too few. */
import type { ReportProgress } from "../../lib/progress";
import { formatCount } from "../../lib/units";
import type { MeasurementRecord, Warning } from "../results/schema";
import { type BottleneckEvidence, bottleneckOf, MIN_SECONDS } from "../warnings/bottleneck";
import type { MeasuredLoad } from "./measure";

export const CHECK_CONNECTION_FACTOR = 2;
const CHECK_SECONDS = 2;
/** Greatest factor by which the rate, and that of the reference load, may differ by chance. */
const GAIN_LIMIT = 1.1;

/** A closed loop at full speed that ran long enough and has a rate that CPU use does not explain. */
export function needsConnectionCheck(record: BottleneckEvidence): boolean {
  if (record.rate !== null || record.offering !== null) return false;
  return record.client.seconds >= MIN_SECONDS && bottleneckOf(record).at === "none";
}

/** @param checked requests per second over CHECK_CONNECTION_FACTOR times the connections */
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

/** Each load is checked once on each deployment, because its bottleneck is the same in every round. */
export class ConnectionChecks {
  readonly #rates = new Map<string, number>();

  constructor(private readonly progress: ReportProgress) {}

  /**
   * @param repeat sends the load over CHECK_CONNECTION_FACTOR times the connections for some seconds
   * @returns the record, with a warning if that was faster
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
