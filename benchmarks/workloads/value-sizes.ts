import type { ValueSizes } from "./mixed-workload";
import type { Random } from "../../lib/statistics/random";

export function sizeSampler(values: ValueSizes, random: Random): { next(): number } {
  switch (values.sizes) {
    case "fixed":
      return { next: () => values.bytes };
    case "uniform":
      return { next: () => values.min + random.below(values.max - values.min + 1) };
    case "lognormal":
      return {
        next: () =>
          Math.min(values.max, Math.max(1, Math.round(values.median * Math.exp(values.sigma * random.normal())))),
      };
    case "weighted": {
      const total = values.list.reduce((sum, { weight }) => sum + weight, 0);
      let sum = 0;
      const limits = values.list.map(({ bytes, weight }) => ({ bytes, upTo: (sum += weight / total) }));
      const last = limits.at(-1)?.bytes ?? 1;
      return {
        next: () => {
          const u = random.uniform();
          return limits.find(({ upTo }) => u < upTo)?.bytes ?? last;
        },
      };
    }
  }
}

/** The largest size that a value can have, bytes. */
export function largestValueSize(values: ValueSizes): number {
  switch (values.sizes) {
    case "fixed":
      return values.bytes;
    case "uniform":
    case "lognormal":
      return values.max;
    case "weighted":
      return Math.max(...values.list.map(({ bytes }) => bytes));
  }
}

/** For keys written before a measurement: evenly spaced quantiles of sorted random draws. */
export function typicalSizes(values: ValueSizes, random: Random, count: number): number[] {
  if (values.sizes === "fixed") return [values.bytes];
  const draw = sizeSampler(values, random);
  const many = Array.from({ length: count * 64 }, () => draw.next()).sort((a, b) => a - b);
  return Array.from({ length: count }, (_, index) => many[index * 64 + 32] ?? 1);
}
