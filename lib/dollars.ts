import { formatCount } from "./units";

export const HOURS_PER_MONTH = 730;

export function usdPerMillionOperations(usdPerHour: number, operationsPerSecond: number): number | undefined {
  return operationsPerSecond > 0 ? (usdPerHour / (operationsPerSecond * 3600)) * 1e6 : undefined;
}

/** @param bytes each byte of data counts once, no matter how many replicas have a copy */
export function usdPerGibMonth(usdPerHour: number, bytes: number): number | undefined {
  return bytes > 0 ? (usdPerHour * HOURS_PER_MONTH) / (bytes / 1024 ** 3) : undefined;
}

/** Dollars with a number of digits that fits their size: `0.0042`, `1.23`, `1,234`. */
export function formatUsd(usd: number): string {
  if (usd >= 1000) return formatCount(usd);
  return usd >= 0.1 ? usd.toFixed(2) : usd.toPrecision(2);
}
