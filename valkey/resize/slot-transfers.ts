/** All primaries get equal shares, and as few slots as possible move. */
import { type SlotRange, countSlots, normaliseRanges, SLOT_COUNT } from "../topology/slots";

interface SlotOwner {
  readonly name: string;
  readonly slots: readonly SlotRange[];
}

export interface SlotTransfer {
  readonly from: string;
  readonly to: string;
  readonly ranges: readonly SlotRange[];
}

/**
 * Each target gets ⌊16384/n⌋ slots or one more; those with the most slots get the larger shares. Small ranges move as a
 * whole, and to owners of neighboring slots.
 * @param owners nodes with slots, together all slots, each once
 */
export function planTransfers(owners: readonly SlotOwner[], targets: readonly string[]): SlotTransfer[] {
  const slotsOf = new Map(owners.map(({ name, slots }) => [name, normaliseRanges(slots)]));
  const count = (name: string): number => countSlots(slotsOf.get(name) ?? []);
  const shares = evenShares(targets, count);
  const share = (name: string): number => shares.get(name) ?? 0;
  const needs = new Deficits(new Map(targets.map((name) => [name, share(name) - count(name)])));
  for (const [name, slots] of slotsOf) if (shares.has(name)) for (const range of slots) needs.own(name, range);

  const pieces = [...slotsOf].flatMap(([from, slots]) =>
    surplusOf(slots, count(from) - share(from), needs).map((range) => ({ from, range })),
  );
  const transfers = new Map<string, SlotTransfer>();
  for (const { from, range } of pieces.sort((a, b) => a.range.from - b.range.from)) {
    for (const { to, taken } of needs.distribute(range)) {
      const key = `${from} ${to}`;
      const before = transfers.get(key)?.ranges ?? [];
      transfers.set(key, { from, to, ranges: normaliseRanges([...before, taken]) });
    }
  }
  return [...transfers.values()];
}

function evenShares(targets: readonly string[], count: (name: string) => number): Map<string, number> {
  const share = Math.floor(SLOT_COUNT / targets.length);
  const larger = SLOT_COUNT % targets.length;
  const byCount = [...targets].sort((a, b) => count(b) - count(a));
  return new Map(byCount.map((name, index) => [name, index < larger ? share + 1 : share]));
}

/** The smallest ranges as a whole, and then a piece of one range: the beginning if the owner before it needs slots. */
function surplusOf(slots: readonly SlotRange[], excess: number, needs: Deficits): SlotRange[] {
  const surplus: SlotRange[] = [];
  let rest = excess;
  for (const range of [...slots].sort((a, b) => countSlots([a]) - countSlots([b]))) {
    if (rest <= 0) break;
    const size = Math.min(rest, countSlots([range]));
    surplus.push(needs.ofOwner(range.from - 1) > 0 ? firstSlots(range, size) : lastSlots(range, size));
    rest -= size;
  }
  return surplus;
}

function firstSlots({ from }: SlotRange, size: number): SlotRange {
  return { from, to: from + size - 1 };
}

function lastSlots({ to }: SlotRange, size: number): SlotRange {
  return { from: to - size + 1, to };
}

class Deficits {
  readonly #ownerOf = new Array<string | undefined>(SLOT_COUNT).fill(undefined);

  constructor(private readonly needs: Map<string, number>) {}

  own(name: string, { from, to }: SlotRange): void {
    this.#ownerOf.fill(name, from, to + 1);
  }

  /** Number of slots that the owner of a slot lacks. 0 if no target owns the slot. */
  ofOwner(slot: number): number {
    return this.needs.get(this.#ownerOf[slot] ?? "") ?? 0;
  }

  distribute(range: SlotRange): { to: string; taken: SlotRange }[] {
    const parts: { to: string; taken: SlotRange }[] = [];
    let { from, to: end } = range;
    while (from <= end) {
      const part = this.#takePart({ from, to: end });
      parts.push(part);
      this.own(part.to, part.taken);
      this.needs.set(part.to, (this.needs.get(part.to) ?? 0) - countSlots([part.taken]));
      if (part.taken.from === from) from = part.taken.to + 1;
      else end = part.taken.from - 1;
    }
    return parts;
  }

  /**
   * The order of preference is: the owner of the slot before the range, the owner of the slot after the range, the
   * target that lacks the most slots.
   */
  #takePart(range: SlotRange): { to: string; taken: SlotRange } {
    const before = this.#ownerOf[range.from - 1];
    if (before !== undefined && this.ofOwner(range.from - 1) > 0) return this.#take(before, range, firstSlots);
    const after = this.#ownerOf[range.to + 1];
    if (after !== undefined && this.ofOwner(range.to + 1) > 0) return this.#take(after, range, lastSlots);
    const [neediest] = [...this.needs].reduce((most, each) => (each[1] > most[1] ? each : most));
    return this.#take(neediest, range, firstSlots);
  }

  #take(to: string, range: SlotRange, cut: typeof firstSlots): { to: string; taken: SlotRange } {
    const size = Math.min(countSlots([range]), this.needs.get(to) ?? 0);
    if (size <= 0) throw new Error("more slots are given than are needed");
    return { to, taken: cut(range, size) };
  }
}
