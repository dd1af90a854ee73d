/** Intended times do not depend on the outcome of earlier requests; the seed decides them. */
import type { Arrivals } from "../../../workloads/mixed-workload";
import type { Random } from "../../../../lib/statistics/random";

interface ArrivalScheduleOptions {
  /** `fixed` means evenly spaced times. `poisson` means exponential gaps between times. */
  readonly arrivals: Arrivals;
  /** One arrival is a batch of requests. */
  readonly rate: number;
  readonly worker: number;
  readonly workers: number;
}

export interface ArrivalSchedule {
  nextMs(): number;
}

/**
 * With n workers, worker w gets every n-th fixed arrival, beginning with w. Each draws its own Poisson arrivals, because
 * their sum is a Poisson process.
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
    // A sum of rounded intervals would drift, so this is a product.
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
