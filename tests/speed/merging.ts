/** Histograms of many runners as one: how long it takes, and that no count is lost. */
import { Failure } from "../../lib/errors";
import { Histogram } from "../../lib/histogram";
import { Random } from "../../lib/statistics/random";
import { median } from "../../lib/statistics/median";
import type { Benchmark } from "./benchmark";
import { singleRow, atMost } from "./row";

/** S4's load generators. */
const RUNNERS = 750;
const REQUESTS = 20_000;
const REPEATS = 3;
const ROW = "histogram-merge";

export const merging: Benchmark = {
  title: "Histograms of many runners",
  ids: [ROW],
  run: ({ emit, report }) => {
    const random = new Random(1);
    const texts: string[] = [];
    // Bucket by bucket, by no code of the merge's.
    const expected = new Map<number, number>();
    for (let runner = 0; runner < RUNNERS; runner++) {
      const histogram = Histogram.empty();
      for (let i = 0; i < REQUESTS; i++) histogram.record(200 * Math.exp(1.5 * random.normal()) + runner);
      let before = 0;
      for (const { ms, count } of histogram.cumulative()) {
        const bucket = bucketOf(ms);
        expected.set(bucket, (expected.get(bucket) ?? 0) + count - before);
        before = count;
      }
      texts.push(histogram.encode());
    }
    const seconds: number[] = [];
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const began = performance.now();
      const merged = Histogram.merge(decoded(texts));
      const p99Ms = merged.percentileMs(0.99);
      seconds.push((performance.now() - began) / 1000);
      report(`p99 of ${merged.count} requests is ${p99Ms} ms, in ${(seconds.at(-1) ?? 0).toFixed(2)} s`);
      let before = 0;
      for (const { ms, count } of merged.cumulative()) {
        if (expected.get(bucketOf(ms)) !== count - before)
          throw new Failure(
            `the merged histogram has ${count - before} requests at ${ms} ms, where the runners have ${expected.get(bucketOf(ms)) ?? 0}`,
          );
        before = count;
      }
      if (before !== RUNNERS * REQUESTS)
        throw new Failure(`the merged histogram has ${before} of ${RUNNERS * REQUESTS} requests`);
    }
    emit(
      singleRow(
        {
          id: ROW,
          what: `from ${RUNNERS} runners' texts to the percentiles of ${RUNNERS * REQUESTS} requests, every count checked; median of ${REPEATS}`,
          unit: "s",
        },
        median(seconds),
        atMost(1),
      ),
    );
    return Promise.resolve();
  },
};

/** One at a time: none is kept. */
function* decoded(texts: readonly string[]): Generator<Histogram> {
  for (const text of texts) yield Histogram.decode(text);
}

/** The last value of a histogram may be cut off at its greatest: the bucket is that of its leading eleven bits. */
function bucketOf(ms: number): number {
  const us = Math.round(ms * 1000);
  const shift = Math.max(0, Math.floor(Math.log2(Math.max(1, us))) - 10);
  return Math.floor(us / 2 ** shift) * 2 ** shift;
}
