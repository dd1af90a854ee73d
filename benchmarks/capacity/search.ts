/** The highest load under which an objective holds: up by doubling, halved in between, and confirmed. Pure but for the probes. */

/** One load offered for a while, and whether the objective held. */
export interface Probed {
  /** Requests offered per second. */
  readonly rate: number;
  readonly holds: boolean;
}

export interface SearchPlan {
  /** The first rate to be offered. */
  readonly start: number;
  /** Nothing above this is offered. */
  readonly most: number;
  /** The answer is known to this part of it: 0.05. */
  readonly precision: number;
  /** How often the answer is offered again; it must hold in more than half of all. */
  readonly confirmations: number;
}

export interface Found<P extends Probed> {
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
 * One probe is chance: so the rate that the search ends with is offered again, and where it does not hold in most of its probes,
 * the search steps down from it by its precision until one does.
 * @param probe offers a rate
 */
export async function searchCapacity<P extends Probed>(plan: SearchPlan, probe: (rate: number) => Promise<P>): Promise<Found<P>> {
  const { start, most, precision, confirmations } = plan;
  const probes: P[] = [];
  const holds = async (rate: number): Promise<boolean> => {
    const made = await probe(Math.max(1, Math.round(rate)));
    probes.push(made);
    return made.holds;
  };
  let low = 0;
  const first = Math.min(start, most);
  let high = first;
  while (await holds(high)) {
    low = high;
    if (high >= most) break;
    high = Math.min(most, high * 2);
  }
  if (low === 0) {
    for (let rate = first / 2; rate >= Math.max(1, first * LEAST_PART) && low === 0; rate /= 2) {
      if (await holds(rate)) low = rate;
      else high = rate;
    }
    if (low === 0) return { capacity: 0, isOpenEnded: false, probes };
  }
  while (low < high && high / low > 1 + precision) {
    // Between rates the way is by ratio, as the precision is.
    const middle = Math.sqrt(low * high);
    if (await holds(middle)) low = middle;
    else high = middle;
  }
  for (let rate = low; rate >= 1; rate /= 1 + precision) {
    let held = 0;
    for (let made = 0; made < confirmations; made++) held += Number(await holds(rate));
    // With the probe that led here.
    if (rate === low) held++;
    if (2 * held > confirmations + Number(rate === low)) return { capacity: Math.round(rate), isOpenEnded: low >= most && rate === low, probes };
    if (rate < low * LEAST_PART) break;
  }
  return { capacity: 0, isOpenEnded: false, probes };
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
