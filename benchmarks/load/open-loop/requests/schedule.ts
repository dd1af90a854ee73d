/** When requests are intended to be sent, whatever becomes of those before. Pure from a seed. */
import type { Arrivals } from "../../../workloads/mixed-workload";
import type { Random } from "../../../../lib/statistics/random";

export interface ArrivalScheduleOptions {
  readonly arrivals: Arrivals;
  /** Arrivals per second of all workers together; each arrival is a batch of requests. */
  readonly rate: number;
  /** Which of how many workers this one is. */
  readonly worker: number;
  readonly workers: number;
}

/** Milliseconds after the start, ascending without end. */
export interface ArrivalSchedule {
  nextMs(): number;
}

/**
 * A worker's share of the arrivals. Evenly spaced ones are dealt out in turn; independent ones need no dealing, for the sum of
 * Poisson processes is one.
 */
export function arrivalSchedule(
  { arrivals, rate, worker, workers }: ArrivalScheduleOptions,
  random: Random,
): ArrivalSchedule {
  return arrivals === "fixed"
    ? new FixedSchedule(1000 / rate, worker, workers)
    : new PoissonSchedule((1000 * workers) / rate, random);
}

class FixedSchedule implements ArrivalSchedule {
  #number: number;

  constructor(
    private readonly intervalMs: number,
    worker: number,
    private readonly workers: number,
  ) {
    this.#number = worker;
  }

  nextMs(): number {
    // By multiplication: sums of rounded intervals drift.
    const at = this.#number * this.intervalMs;
    this.#number += this.workers;
    return at;
  }
}

class PoissonSchedule implements ArrivalSchedule {
  #at = 0;

  constructor(
    private readonly meanMs: number,
    private readonly random: Random,
  ) {}

  nextMs(): number {
    this.#at += this.random.exponential() * this.meanMs;
    return this.#at;
  }
}
