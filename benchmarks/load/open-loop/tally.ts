/** What became of the requests: counts by outcome, latencies from the intended time, and the generator's own lateness. */
import { z } from "zod";
import { Histogram } from "../../../lib/histogram";

const count = z.number().min(0);

/** A tally as plain data: what a worker hands over. Histograms are in HDR's own format, microseconds. */
export const tallySchema = z.strictObject({
  /** Requests whose intended time came. */
  offered: count,
  /** Of those, sent at least once; the others found no room in the queue or no server in time. */
  sent: count,
  /** Answered without an error. */
  acknowledged: count,
  /** Of those, before the offering ended. */
  acknowledgedInTime: count,
  /** Answered with an error, or never sent: certainly not done. By kind. */
  failed: z.record(z.string(), count),
  /** Sent and never answered: done or not, nobody here knows. By kind. */
  unknown: z.record(z.string(), count),
  /** Followed, by kind: MOVED, ASK. */
  redirects: z.record(z.string(), count),
  reconnects: count,
  /** Most requests at a time that had been offered and not yet settled. */
  mostInFlight: count,
  /** Acknowledged requests, from the intended time. */
  reads: z.string(),
  writes: z.string(),
  /** From the intended time until the generator took notice of it: its own lateness, part of the latencies above. */
  lag: z.string(),
  /** Milliseconds since the epoch. */
  fromMs: z.number(),
  /** When the last request was settled, or the offering ended. */
  toMs: z.number(),
  /** Seconds for which there was something to do. */
  busySeconds: count,
});
export type TallyData = z.infer<typeof tallySchema>;

/** Outcomes of one request. */
export type RequestOutcome =
  | { readonly kind: "acknowledged" }
  /** Refused, or never sent: certainly not done. */
  | { readonly kind: "failed"; readonly error: string }
  /** Sent, and no reply: done or not. */
  | { readonly kind: "unknown"; readonly error: string };

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
    const {
      offered,
      sent,
      acknowledged,
      acknowledgedInTime,
      failed,
      unknown,
      redirects,
      reconnects,
      mostInFlight,
      busySeconds,
      fromMs,
      toMs,
    } = this;
    return {
      offered,
      sent,
      acknowledged,
      acknowledgedInTime,
      failed,
      unknown,
      redirects,
      reconnects,
      mostInFlight,
      busySeconds,
      fromMs,
      toMs,
      reads: this.reads.encode(),
      writes: this.writes.encode(),
      lag: this.lag.encode(),
    };
  }

  /** Reads and writes together. */
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
