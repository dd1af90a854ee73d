/** A latency begins at the intended time of its request. */
import { z } from "zod";
import { Histogram } from "../../lib/histogram";

const count = z.number().min(0);

/** Histograms are encoded by HdrHistogram, in microseconds. */
export const tallySchema = z.strictObject({
  /** Number of requests whose intended time has passed. */
  offered: count,
  /**
   * Number of offered requests that were sent at least once. All other offered requests were never sent, because the
   * queue was full or no server accepted them in time.
   */
  sent: count,
  /** Number of requests with a reply that is not an error. */
  acknowledged: count,
  /** Number of requests with a reply that is not an error and that arrived before the end of the load. */
  acknowledgedInTime: count,
  /**
   * Number of requests that certainly were not executed, by error. These are requests with an error as reply, and
   * requests that were never sent.
   */
  failed: z.record(z.string(), count),
  /**
   * Number of requests that were sent but never answered, by reason. It is unknown whether the server executed these
   * requests.
   */
  unknown: z.record(z.string(), count),
  /** Number of redirects that were followed, by kind: MOVED, ASK, TRYAGAIN. */
  redirects: z.record(z.string(), count),
  reconnects: count,
  /** Highest number of offered requests that waited for their outcome at the same time. */
  mostInFlight: count,
  /** Latencies of acknowledged reads and writes, measured from the intended time. */
  reads: z.string(),
  writes: z.string(),
  /**
   * Lateness of the generator: the time from an intended time until the generator notices it. Latencies include this
   * lateness.
   */
  lag: z.string(),
  /** Start of the load, milliseconds since the epoch. */
  fromMs: z.number(),
  /** Time at which the outcome of the last request became known, or the end of the load if it is later. */
  toMs: z.number(),
  /** Seconds in which the generator was busy. */
  busySeconds: count,
});
export type TallyData = z.infer<typeof tallySchema>;

type Kinds = Record<string, number>;

export class Tally {
  offered = 0;
  sent = 0;
  acknowledged = 0;
  acknowledgedInTime = 0;
  reconnects = 0;
  mostInFlight = 0;
  busySeconds = 0;
  fromMs = Infinity;
  toMs = 0;
  readonly failed: Kinds = {};
  readonly unknown: Kinds = {};
  readonly redirects: Kinds = {};
  readonly reads = Histogram.empty();
  readonly writes = Histogram.empty();
  readonly lag = Histogram.empty();

  static ofData(data: TallyData): Tally {
    const tally = new Tally();
    tally.#addCounts(data);
    for (const name of ["reads", "writes", "lag"] as const) tally[name].add(Histogram.decode(data[name]));
    return tally;
  }

  static merge(tallies: readonly Tally[]): Tally {
    const sum = new Tally();
    for (const tally of tallies) {
      sum.#addCounts(tally);
      for (const name of ["reads", "writes", "lag"] as const) sum[name].add(tally[name]);
    }
    return sum;
  }

  data(): TallyData {
    const { reads, writes, lag, ...counts } = this;
    return { ...counts, reads: reads.encode(), writes: writes.encode(), lag: lag.encode() };
  }

  latencies(): Histogram {
    return Histogram.merge([this.reads, this.writes]);
  }

  get failures(): number {
    return sumOf(this.failed);
  }

  get unknowns(): number {
    return sumOf(this.unknown);
  }

  #addCounts(other: Omit<TallyData, "reads" | "writes" | "lag">): void {
    this.offered += other.offered;
    this.sent += other.sent;
    this.acknowledged += other.acknowledged;
    this.acknowledgedInTime += other.acknowledgedInTime;
    this.reconnects += other.reconnects;
    this.mostInFlight += other.mostInFlight;
    this.busySeconds += other.busySeconds;
    this.fromMs = Math.min(this.fromMs, other.fromMs);
    this.toMs = Math.max(this.toMs, other.toMs);
    for (const name of ["failed", "unknown", "redirects"] as const)
      for (const [kind, many] of Object.entries(other[name])) addCount(this[name], kind, many);
  }
}

export function addCount(kinds: Kinds, kind: string, by = 1): void {
  kinds[kind] = (kinds[kind] ?? 0) + by;
}

function sumOf(kinds: Kinds): number {
  return Object.values(kinds).reduce((sum, each) => sum + each, 0);
}
