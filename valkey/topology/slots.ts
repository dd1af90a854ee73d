export const SLOT_COUNT = 16384;

/** An inclusive range of hash slots, `0 <= from <= to < SLOT_COUNT`. */
export interface SlotRange {
  readonly from: number;
  readonly to: number;
}

/** Slots in overlapping ranges count more than once. */
export function countSlots(ranges: readonly SlotRange[]): number {
  return ranges.reduce((sum, range) => sum + range.to - range.from + 1, 0);
}

export function slotsIn(ranges: readonly SlotRange[]): number[] {
  return ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

export function normaliseRanges(ranges: readonly SlotRange[]): SlotRange[] {
  const result: { from: number; to: number }[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = result.at(-1);
    if (last !== undefined && range.from <= last.to + 1) last.to = Math.max(last.to, range.to);
    else result.push({ ...range });
  }
  return result;
}

export function subtractRanges(ranges: readonly SlotRange[], others: readonly SlotRange[]): SlotRange[] {
  const holes = normaliseRanges(others);
  return normaliseRanges(ranges).flatMap((range) => {
    const pieces: SlotRange[] = [];
    let from = range.from;
    for (const hole of holes) {
      if (hole.to < from || hole.from > range.to) continue;
      if (hole.from > from) pieces.push({ from, to: hole.from - 1 });
      from = hole.to + 1;
    }
    if (from <= range.to) pieces.push({ from, to: range.to });
    return pieces;
  });
}

/** Ranges as text, such as `0-5460 9000`, or `none`. */
export function formatRanges(ranges: readonly SlotRange[]): string {
  if (ranges.length === 0) return "none";
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${String(from)}-${String(to)}`)).join(" ");
}

/** Such as `5` or `0-5460`. @throws Error when the word is neither a slot nor a range within 0 … 16383 */
export function parseRange(word: string): SlotRange {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(word);
  const from = Number(match?.[1]);
  const to = Number(match?.[2] ?? match?.[1]);
  if (match === null || from > to || to >= SLOT_COUNT) throw new Error(`not a slot range: ${word}`);
  return { from, to };
}

/** Contiguous, in slot order; sizes differ by at most one. */
export function distributeSlots(count: number): SlotRange[] {
  const start = (index: number): number => Math.floor((index * SLOT_COUNT) / count);
  return Array.from({ length: count }, (_, index) => ({ from: start(index), to: start(index + 1) - 1 }));
}
