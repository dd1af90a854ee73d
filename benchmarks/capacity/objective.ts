/** What latency is wanted: a percentile, and the most it may be. Pure. */
import { BadInput } from "../../lib/errors";

export interface Objective {
  /** 0.99 for p99. */
  readonly quantile: number;
  readonly ms: number;
}

const OBJECTIVE = /^p(\d{1,2}(?:\.\d+)?)\s*(?:=|<=?|:)\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)$/;
const UNITS: Readonly<Record<string, number>> = { us: 0.001, µs: 0.001, ms: 1, s: 1000 };

/** @throws BadInput where it is none: `p99=2ms` is one */
export function parseObjective(text: string): Objective {
  const match = OBJECTIVE.exec(text.trim());
  const objective = { quantile: Number(match?.[1]) / 100, ms: Number(match?.[2]) * (UNITS[match?.[3] ?? ""] ?? NaN) };
  if (!(objective.quantile > 0) || !(objective.ms > 0))
    throw new BadInput("--objective", [
      `${text} is none: expected a percentile and a time, such as p99=2ms or p99.9=500us`,
    ]);
  return objective;
}

export function formatObjective({ quantile, ms }: Objective): string {
  return `p${Number((quantile * 100).toFixed(6))} ≤ ${ms} ms`;
}
