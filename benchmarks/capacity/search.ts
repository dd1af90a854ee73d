/**
 * Searches for the highest load that meets an objective. The search doubles the rate until a rate misses the objective.
 * After that, the search repeatedly halves the gap between the rates that met the objective and the rates that missed
 * it. At the end, the search confirms both ends of the gap. Pure except for the probes.
 */

/** A rate that was offered for some time, and the decision whether this rate met the objective. */
export interface ProbeOutcome {
  /** Requests offered per second. */
  readonly rate: number;
  readonly holds: boolean;
}

/** Bounds and precision of a search. */
export interface SearchPlan {
  /** First rate offered, requests per second. */
  readonly initialRate: number;
  /** Highest rate offered, requests per second. */
  readonly maxRate: number;
  /** Target relative precision of the result, such as 0.05. */
  readonly precision: number;
  /**
   * Highest number of times that the resulting rate is offered again. The rate must meet the objective in more than
   * half of these repetitions. The next higher rate must miss the objective in at least half of its probes.
   */
  readonly confirmations: number;
}

export interface SearchResult<P extends ProbeOutcome> {
  /** Highest confirmed rate; 0 if not even the lowest tried rate met the objective. */
  readonly capacity: number;
  /** Whether the highest allowed rate met the objective. In this case, the capacity can be higher than this rate. */
  readonly isOpenEnded: boolean;
  /** All probes, in the order in which they were made. */
  readonly probes: readonly P[];
}

/** Lowest rate that the search offers, as a fraction of the initial rate. The search gives up below this rate. */
const MIN_FRACTION = 1 / 64;

/**
 * Searches for the capacity. A single probe may be wrong in both directions: a stall of the machine makes a sustainable
 * load fail, and a lucky second makes an unsustainable load pass. Therefore:
 * - a load that fails is offered again, and counts as failed if two of three probes fail;
 * - at the end the lowest failed load is offered again. If most of these probes pass, the search continues above this
 *   load;
 * - the result must pass most of its confirmations, and the probe that found the result is not a confirmation. Until a
 *   rate passes, the search steps down by its precision.
 * @param probe offers a rate
 */
export async function searchCapacity<P extends ProbeOutcome>(
  plan: SearchPlan,
  probe: (rate: number) => Promise<P>,
): Promise<SearchResult<P>> {
  const { maxRate, precision, confirmations } = plan;
  const probes: P[] = [];
  const holds = async (rate: number): Promise<boolean> => {
    const made = await probe(rate);
    probes.push(made);
    return made.holds;
  };
  const holdsInMost = (rate: number): Promise<boolean> => majority(confirmations, () => holds(rate));
  const nothing = { capacity: 0, isOpenEnded: false, probes };

  const low = await highestPassing(new Bracket(plan), holds, holdsInMost);
  if (low === 0) return nothing;
  for (let rate = low; rate >= Math.max(1, low * MIN_FRACTION); rate /= 1 + precision) {
    const offered = Math.max(1, Math.round(rate));
    if (await holdsInMost(offered)) {
      return { capacity: offered, isOpenEnded: low >= maxRate && offered === low, probes };
    }
  }
  return nothing;
}

/**
 * Narrows the gap between passed and failed rates to the precision. A rate fails if two of three probes fail. If the
 * lowest failed rate then passes most of its confirmations, the search continues above this rate.
 * @returns the highest rate that passed; 0 if no rate passed
 */
async function highestPassing(
  bracket: Bracket,
  holds: (rate: number) => Promise<boolean>,
  holdsInMost: (rate: number) => Promise<boolean>,
): Promise<number> {
  for (;;) {
    for (let rate = bracket.next(); rate !== undefined; rate = bracket.next()) {
      const held = (await holds(rate)) || ((await holds(rate)) && (await holds(rate)));
      bracket.put(rate, held);
    }
    const isSettled = bracket.low === 0 || bracket.high === undefined || !(await holdsInMost(bracket.high));
    if (isSettled) return bracket.low;
    bracket.failedByChance();
  }
}

/**
 * Asks up to `of` times, and returns whether more than half of the answers are yes. It stops asking as soon as the
 * result is certain.
 */
async function majority(of: number, ask: () => Promise<boolean>): Promise<boolean> {
  const enough = Math.floor(of / 2) + 1;
  let held = 0;
  for (let made = 0; held < enough && held + of - made >= enough; made++) held += Number(await ask());
  return held >= enough;
}

/** The gap between the highest rate that passed and the higher rates that failed. */
class Bracket {
  low = 0;
  /** Rates that failed, in descending order. */
  readonly #failed: number[] = [];

  constructor(private readonly plan: SearchPlan) {}

  /** The lowest rate that failed. */
  get high(): number | undefined {
    return this.#failed.at(-1);
  }

  /** The next rate to offer, a whole number; undefined when the gap is as small as the precision. */
  next(): number | undefined {
    if (this.low === 0) return this.#downwards();
    return this.high === undefined ? this.#upwards() : this.#between(this.low, this.high);
  }

  put(rate: number, held: boolean): void {
    if (held) this.low = rate;
    else this.#failed.push(rate);
  }

  /** Counts the lowest failed rate as passed, because it failed by chance. */
  failedByChance(): void {
    this.low = this.#failed.pop() ?? this.low;
  }

  #downwards(): number | undefined {
    const first = Math.min(this.plan.initialRate, this.plan.maxRate);
    if (this.high === undefined) return first;
    const half = this.high / 2;
    return half >= Math.max(1, first * MIN_FRACTION) ? Math.round(half) : undefined;
  }

  #upwards(): number | undefined {
    return this.low >= this.plan.maxRate ? undefined : Math.min(this.plan.maxRate, this.low * 2);
  }

  /**
   * Returns the geometric mean of two rates, rounded; undefined if the gap between them is as small as the precision.
   * The geometric mean is used because the precision is relative.
   */
  #between(low: number, high: number): number | undefined {
    const middle = Math.round(Math.sqrt(low * high));
    return high / low > 1 + this.plan.precision && middle > low && middle < high ? middle : undefined;
  }
}

/**
 * The knee: the point from which latency rises faster than load.
 *
 * It is the point farthest below the line from the first to the last point, with both axes scaled to 1 (Kneedle method,
 * Satopää et al., 2011). The method is applied to the logarithm of latency, because latency grows by orders of
 * magnitude beyond the knee.
 * @param points points with ascending rates
 * @returns undefined for fewer than three points, or if no point is below the line
 */
export function kneeOf<P extends { readonly rate: number; readonly ms: number }>(points: readonly P[]): P | undefined {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined || points.length < 3) return undefined;
  const span = last.rate - first.rate;
  const rise = Math.log(last.ms) - Math.log(first.ms);
  if (!(span > 0) || !(rise > 0)) return undefined;
  let knee: P | undefined;
  let farthest = 0;
  for (const point of points) {
    const below = (point.rate - first.rate) / span - (Math.log(point.ms) - Math.log(first.ms)) / rise;
    if (below > farthest) {
      farthest = below;
      knee = point;
    }
  }
  return knee;
}
