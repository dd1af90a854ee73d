/**
 * The sum of histograms is exact, but percentiles cannot be combined: a percentile of several runners is that of all
 * requests together, never a mean of percentiles.
 */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from "hdr-histogram-js";
import type { Histogram as HdrHistogram } from "hdr-histogram-js";
import { Failure, messageOf } from "./errors";

/** The number of requests that took at most a given time. */
export interface CumulativeCount {
  readonly ms: number;
  readonly count: number;
}

/** Microseconds. Longer latencies are recorded as this latency, which is an hour. */
const MAX_US = 3_600_000_000;
const DIGITS = 3;
/** The steps reach into the tail down to one request in a million. */
const STEPS = 200;
const DECADES = 6;

/** From 1 µs to an hour. A bucket is at most a thousandth of its latencies wide. */
export class Histogram {
  private constructor(private readonly hdr: HdrHistogram) {}

  static empty(): Histogram {
    // 64-bit buckets are doubles, which count exactly up to 2^53. At a billion requests per second, a bucket would
    // exceed 32 bits.
    return new Histogram(
      build({
        bitBucketSize: 64,
        autoResize: false,
        lowestDiscernibleValue: 1,
        highestTrackableValue: MAX_US,
        numberOfSignificantValueDigits: DIGITS,
      }),
    );
  }

  static merge(histograms: Iterable<Histogram>): Histogram {
    const sum = Histogram.empty();
    for (const histogram of histograms) sum.add(histogram);
    return sum;
  }

  /** Each request gets the smallest listed latency that is not below its own. */
  static fromCumulative(counts: readonly CumulativeCount[]): Histogram {
    const histogram = Histogram.empty();
    let before = 0;
    for (const { ms, count } of [...counts].sort((a, b) => a.ms - b.ms)) {
      if (count > before) histogram.record(ms * 1000, count - before);
      before = Math.max(before, count);
    }
    return histogram;
  }

  /** The common format of HDR histograms: version 2, deflated, base64. @param unitUs of the values @throws Failure */
  static decode(text: string, unitUs = 1): Histogram {
    let read: HdrHistogram;
    try {
      read = decodeFromCompressedBase64(text, 64);
    } catch (error) {
      throw new Failure(`not an encoded HDR histogram: ${messageOf(error)}`, { cause: error });
    }
    const { highestTrackableValue, numberOfSignificantValueDigits } = read;
    if (unitUs === 1 && highestTrackableValue === MAX_US && numberOfSignificantValueDigits === DIGITS)
      return new Histogram(read);
    const histogram = Histogram.empty();
    for (const { value, count } of bucketsOf(read)) histogram.record(value * unitUs, count);
    return histogram;
  }

  /** Encodes the histogram in the format that `decode` reads, in microseconds. */
  encode(): string {
    return encodeIntoCompressedBase64(this.hdr);
  }

  /** @param us latency of the requests, microseconds. A latency below 1 counts as 1 */
  record(us: number, count = 1): void {
    const value = us < 1 ? 1 : us > MAX_US ? MAX_US : Math.round(us);
    this.hdr.recordValueWithCount(value, count);
  }

  add(other: Histogram): void {
    if (other.count === 0) return;
    this.hdr.add(other.hdr);
  }

  get count(): number {
    return this.hdr.totalCount;
  }

  /** The given part (0 to 1) of the requests took at most this time. 0 for an empty histogram. */
  percentileMs(part: number): number {
    return this.count === 0 ? 0 : Math.min(this.hdr.getValueAtPercentile(part * 100), this.hdr.maxValue) / 1000;
  }

  get minMs(): number {
    return this.percentileMs(0);
  }

  get maxMs(): number {
    return this.hdr.maxValue / 1000;
  }

  /** The latency of a request is approximated by the middle of its bucket. */
  get meanMs(): number {
    return this.hdr.mean / 1000;
  }

  /** Each bucket that is not empty has one step. */
  cumulative(): CumulativeCount[] {
    let sum = 0;
    return bucketsOf(this.hdr).map(({ value, count }) => ({
      ms: Math.min(value, this.hdr.maxValue) / 1000,
      count: (sum += count),
    }));
  }

  /** About 200; each decade of the tail (90 %, 99 %, …) has the same number. */
  tailSteps(): CumulativeCount[] {
    const counts = this.cumulative();
    const steps = new Map<number, CumulativeCount>();
    let index = 0;
    for (let step = 0; step <= STEPS; step++) {
      const part = step === STEPS ? 1 : 1 - 10 ** ((-DECADES * step) / STEPS);
      while (index < counts.length - 1 && (counts[index]?.count ?? 0) < part * this.count) index++;
      const found = counts[index];
      if (found !== undefined) steps.set(found.ms, found);
    }
    return [...steps.values()];
  }

  /** As in valkey-benchmark's table: 0 %, 50 %, 75 %, 87.5 %, … Each step halves the slower part. */
  percentiles(): CumulativeCount[] {
    const counts = this.cumulative();
    const steps = new Map<number, CumulativeCount>();
    for (let left = 1; left * this.count >= 0.5; left /= 2) {
      const step = counts.find(({ count }) => count >= (1 - left) * this.count);
      if (step !== undefined) steps.set(step.ms, step);
    }
    const last = counts.at(-1);
    if (last !== undefined) steps.set(last.ms, last);
    return [...steps.values()];
  }
}

function bucketsOf(hdr: HdrHistogram): { readonly value: number; readonly count: number }[] {
  const found: { value: number; count: number }[] = [];
  // The library uses this iterator itself, and its types do not declare it. It has the same records as a dump of the
  // histogram.
  const { recordedValuesIterator } = hdr as HdrHistogram & {
    readonly recordedValuesIterator: {
      reset: () => void;
      hasNext: () => boolean;
      next: () => { valueIteratedTo: number; countAtValueIteratedTo: number };
    };
  };
  recordedValuesIterator.reset();
  while (recordedValuesIterator.hasNext()) {
    const { valueIteratedTo, countAtValueIteratedTo } = recordedValuesIterator.next();
    found.push({ value: valueIteratedTo, count: countAtValueIteratedTo });
  }
  return found;
}

/** Between two steps, a distribution is constant. */
export function mergeCumulativeCounts(distributions: readonly (readonly CumulativeCount[])[]): CumulativeCount[] {
  const steps = [...new Set(distributions.flatMap((counts) => counts.map(({ ms }) => ms)))].sort((a, b) => a - b);
  const positions = distributions.map(() => -1);
  return steps.map((ms) => {
    let sum = 0;
    for (const [index, counts] of distributions.entries()) {
      let position = positions[index] ?? -1;
      while ((counts[position + 1]?.ms ?? Infinity) <= ms) position++;
      positions[index] = position;
      sum += counts[position]?.count ?? 0;
    }
    return { ms, count: sum };
  });
}
