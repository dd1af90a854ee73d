import type { TableGrowth } from "../../results/study-schema";

/** With fewer keys, the server's own memory is larger than that of its entries. */
export const MIN_KEYS = 100_000;

interface BytesPerEntry {
  readonly min: number;
  readonly max: number;
  readonly minAtKeys: number;
  readonly maxAtKeys: number;
}

export function bytesPerEntry({ samples }: TableGrowth): BytesPerEntry | undefined {
  const points = samples
    .filter(({ keys }) => keys >= MIN_KEYS)
    .map(({ keys, bytes }) => ({ keys, each: bytes / keys }));
  const [first] = points;
  if (first === undefined) return undefined;
  const min = points.reduce((low, point) => (point.each < low.each ? point : low), first);
  const max = points.reduce((high, point) => (point.each > high.each ? point : high), first);
  return { min: min.each, max: max.each, minAtKeys: min.keys, maxAtKeys: max.keys };
}

interface RateDip {
  readonly keys: number;
  readonly part: number;
}

/** Shorter windows would show effects of the scheduler. */
const WINDOW_SECONDS = 0.25;
const DIP = 0.7;

/** Keys inserted per second, in windows of a quarter of a second. */
export function insertionRates({ samples }: TableGrowth): { readonly keys: number; readonly rate: number }[] {
  const rates: { keys: number; rate: number }[] = [];
  let [from] = samples;
  for (const to of samples) {
    if (from === undefined || to.seconds - from.seconds < WINDOW_SECONDS || to.keys === from.keys) continue;
    rates.push({ keys: (from.keys + to.keys) / 2, rate: (to.keys - from.keys) / (to.seconds - from.seconds) });
    from = to;
  }
  return rates;
}

/** In doublings of the number of keys. Closer dips count as one. */
const APART = 0.15;

export function rateDips(growth: TableGrowth): RateDip[] {
  const rates = insertionRates(growth);
  const sorted = rates.map(({ rate }) => rate).sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)];
  if (median === undefined) return [];
  const low = rates.flatMap(({ keys, rate }) =>
    rate < DIP * median && keys >= MIN_KEYS ? [{ keys, part: rate / median }] : [],
  );
  return low.reduce<RateDip[]>((dips, dip) => {
    const last = dips.at(-1);
    if (last === undefined || !isNear(last.keys, dip.keys)) return [...dips, dip];
    return [...dips.slice(0, -1), last.part <= dip.part ? last : dip];
  }, []);
}

function isNear(a: number, b: number): boolean {
  return Math.abs(Math.log2(a / b)) < APART;
}

/** Such dips come from the growing table, all others from the machine. Empty for one round, which cannot tell. */
export function recurringDips(rounds: readonly TableGrowth[]): RateDip[] {
  const [first = [], ...others] = rounds.map(rateDips);
  if (others.length === 0) return [];
  const roundsWith = (keys: number): number =>
    others.filter((dips) => dips.some((dip) => isNear(dip.keys, keys))).length;
  return first.filter(({ keys }) => roundsWith(keys) > others.length / 2);
}
