import { BadInput } from "../../lib/errors";

/** An objective such as p99 ≤ 2 ms. */
export interface Objective {
  /** Quantile, such as 0.99 for p99. */
  readonly quantile: number;
  readonly ms: number;
}

const OBJECTIVE = /^p(\d{1,2}(?:\.\d+)?)\s*(?:=|<=?|≤|:)\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)$/;
const MILLISECONDS: Readonly<Record<string, number>> = { us: 0.001, µs: 0.001, ms: 1, s: 1000 };

export function parseObjective(text: string): Objective {
  const [, percentile, value, unit = ""] = OBJECTIVE.exec(text.trim()) ?? [];
  const objective = { quantile: Number(percentile) / 100, ms: Number(value) * (MILLISECONDS[unit] ?? NaN) };
  if (objective.quantile > 0 && objective.ms > 0) return objective;
  const expected = "expected a percentile and a latency, such as p99=2ms or p99.9=500us";
  throw BadInput.of("--objective", "not-an-objective", `${JSON.stringify(text)} is not an objective: ${expected}`);
}

export function formatObjective({ quantile, ms }: Objective): string {
  return `p${Number((quantile * 100).toFixed(6))} ≤ ${ms} ms`;
}
