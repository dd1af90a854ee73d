/** The highest load under which an objective holds: up by doubling, halved in between, and both ends confirmed. Pure but for the probes. */

/** One load offered for a while, and whether the objective held. */
export interface ProbeOutcome {
  /** Requests offered per second. */
  readonly rate: number;
  readonly holds: boolean;
}

export interface SearchPlan {
  /** The first rate to be offered. */
  readonly initialRate: number;
  /** Nothing above this is offered. */
  readonly maxRate: number;
  /** The answer is known to this part of it: 0.05. */
  readonly precision: number;
  /** How often the answer is offered again, at most; it must hold in more than half of them, and the next load above must not. */
  readonly confirmations: number;
}

export interface SearchResult<P extends ProbeOutcome> {
  /** The highest rate that was confirmed; 0 where not even the lowest that was tried held. */
  readonly capacity: number;
  /** Whether it held up to the highest rate that may be offered: the capacity is that or more. */
  readonly isOpenEnded: boolean;
  /** In the order in which they were made. */
  readonly probes: readonly P[];
}

/** Below this part of the first rate nothing is looked for. */
const LEAST_PART = 1 / 64;

/**
 * One probe is chance, either way: a stall of the machine fails a load that holds, and a lucky second lets one hold that does not. On the way
 * a load that fails is offered again, and fails by two of three. At the end the lowest load that failed is offered again as the answer is;
 * where it holds in most, the search goes on above it. The answer is what holds in most of its own confirmations, which the probe that
 * led there is none of; else the search steps down from it by its precision until one does.
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
  const bracket = new Bracket(plan);
  for (;;) {
    for (let rate = bracket.next(); rate !== undefined; rate = bracket.next())
      bracket.put(rate, (await holds(rate)) || ((await holds(rate)) && (await holds(rate))));
    if (bracket.low === 0) return { capacity: 0, isOpenEnded: false, probes };
    if (bracket.high === undefined || !(await holdsInMost(bracket.high))) break;
    bracket.failedByChance();
  }
  const { low } = bracket;
  for (let rate = low; rate >= Math.max(1, low * LEAST_PART); rate /= 1 + precision) {
    const offered = Math.max(1, Math.round(rate));
    if (await holdsInMost(offered))
      return { capacity: offered, isOpenEnded: low >= maxRate && offered === low, probes };
  }
  return { capacity: 0, isOpenEnded: false, probes };
}

/** Whether more than half of so many do; asked only until that is known. */
async function majority(of: number, ask: () => Promise<boolean>): Promise<boolean> {
  const enough = Math.floor(of / 2) + 1;
  let held = 0;
  for (let made = 0; held < enough && held + of - made >= enough; made++) held += Number(await ask());
  return held >= enough;
}

/** Between the highest rate that held and those above it that did not. */
class Bracket {
  low = 0;
  /** Descending. */
  readonly #failed: number[] = [];

  constructor(private readonly plan: SearchPlan) {}

  /** The lowest that failed. */
  get high(): number | undefined {
    return this.#failed.at(-1);
  }

  /** The rate to be offered next, a whole number; undefined when the two are as near as wanted. */
  next(): number | undefined {
    const { initialRate, maxRate, precision } = this.plan;
    const first = Math.min(initialRate, maxRate);
    const { low, high } = this;
    if (low === 0)
      return high === undefined
        ? first
        : high / 2 >= Math.max(1, first * LEAST_PART)
          ? Math.round(high / 2)
          : undefined;
    if (high === undefined) return low >= maxRate ? undefined : Math.min(maxRate, low * 2);
    // Between rates the way is by ratio, as the precision is.
    const middle = Math.round(Math.sqrt(low * high));
    return high / low > 1 + precision && middle > low && middle < high ? middle : undefined;
  }

  put(rate: number, held: boolean): void {
    if (held) this.low = rate;
    else this.#failed.push(rate);
  }

  failedByChance(): void {
    this.low = this.#failed.pop() ?? this.low;
  }
}

/**
 * Where latency begins to rise faster than load: the point farthest below the line from the first to the last, both axes scaled to
 * one (the Kneedle method, on latencies' logarithms: beyond the knee they grow by orders of magnitude).
 * @param points ascending in rate
 * @returns undefined for fewer than three, or where no point lies below the line
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
