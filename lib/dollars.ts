/** Dollars: per hour, per month, per operation. */
import { formatCount } from "./units";

/** Hours that AWS counts for a month where a price is per month. */
export const HOURS_PER_MONTH = 730;

/** Dollars that a million operations cost at a measured rate. @returns undefined when nothing was served */
export function usdPerMillionOperations(usdPerHour: number, operationsPerSecond: number): number | undefined {
  return operationsPerSecond > 0 ? (usdPerHour / (operationsPerSecond * 3600)) * 1e6 : undefined;
}

/**
 * Dollars that keeping a GiB of data costs per month.
 * @param bytes of data, each counted once however many replicas it has
 */
export function usdPerGibMonth(usdPerHour: number, bytes: number): number | undefined {
  return bytes > 0 ? (usdPerHour * HOURS_PER_MONTH) / (bytes / 1024 ** 3) : undefined;
}

/** Dollars with as many digits as they deserve: `0.0042`, `1.23`, `1,234`. */
export function formatUsd(usd: number): string {
  if (usd >= 1000) return formatCount(usd);
  return usd >= 0.1 ? usd.toFixed(2) : usd.toPrecision(2);
}
