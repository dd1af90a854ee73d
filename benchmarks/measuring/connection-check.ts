/**
 * The limit of a closed loop that nobody's CPU explains: its connections may simply be too few to keep the servers busy. So the same
 * load is sent once more over twice as many, and what comes of it tells. Pure.
 */
import type { Warning, MeasurementRecord } from "../results/schema";
import { formatCount } from "../../lib/units";
import { bottleneckOf } from "./bottleneck";

/** Connections of the probe, for each of the measurement's. */
export const CHECK_CONNECTION_FACTOR = 2;
/** How long a probe takes at most, seconds. */
export const CHECK_SECONDS = 2;
/** A rate that grows by less is the same rate: so much the reference load may move, too. */
const GAIN_LIMIT = 1.1;
/** What took less says nothing of who was the limit. */
const LEAST_SECONDS = 1;

/** Whether as much was sent as could be, for long enough, and neither side nor the machine was the limit. */
export function needsConnectionCheck(
  record: Pick<MeasurementRecord, "cpu" | "offering" | "client" | "clients" | "pipeline" | "rate">,
): boolean {
  return (
    record.rate === null &&
    record.offering === null &&
    record.client.seconds >= LEAST_SECONDS * 0.98 &&
    bottleneckOf(record).at === "none"
  );
}

/**
 * @param rate requests per second of the measurement
 * @param probed the same over twice the connections
 */
export function connectionWarnings(rate: number, probed: number): Warning[] {
  if (probed <= rate * GAIN_LIMIT) return [];
  return [
    {
      code: "few-connections",
      text: `over twice the connections it was ${formatCount(Math.round(probed))}/s, ${Math.round((probed / rate - 1) * 100)} % more, and nobody had run out of CPU: how much is under way at a time was the limit`,
    },
  ];
}
