/** Which slots go from whom to whom so that all have an even share, with the fewest moved. Pure. */
import type { SlotRange } from "../topology/slots";
import { countSlots, normaliseRanges, SLOT_COUNT } from "../topology/slots";

/** Who owns which slots, by node name. */
export interface SlotOwner {
  readonly name: string;
  readonly slots: readonly SlotRange[];
}

/** Slots that change their owner. */
export interface SlotTransfer {
  readonly from: string;
  readonly to: string;
  readonly ranges: readonly SlotRange[];
}

/**
 * Moves slots until every keeper has ⌊16384/n⌋ or one more and nobody else has any. As many slots move as
 * must: what non-keepers have, and what keepers have above their share, the larger shares going to those with
 * most. Small ranges go whole, and slots go where their neighbours are if that is a keeper in need.
 * @param owners everyone with slots; together they have all slots, each once
 * @param keepers the nodes that are to share the slots, with or without slots now
 */
export function planTransfers(owners: readonly SlotOwner[], keepers: readonly string[]): SlotTransfer[] {
  const slotsOf = new Map(owners.map(({ name, slots }) => [name, normaliseRanges(slots)]));
  const count = (name: string): number => countSlots(slotsOf.get(name) ?? []);
  const shares = evenShares(keepers, count);
  const needs = new Map(keepers.map((name) => [name, (shares.get(name) ?? 0) - count(name)]));
  const ownerOf = new Array<string | undefined>(SLOT_COUNT).fill(undefined);
  const own = (name: string, { from, to }: SlotRange): void => {
    ownerOf.fill(name, from, to + 1);
  };
  for (const [name, slots] of slotsOf) if (shares.has(name)) for (const range of slots) own(name, range);

  const inNeed = (slot: number): boolean => (needs.get(ownerOf[slot] ?? "") ?? 0) > 0;
  const pieces = [...slotsOf].flatMap(([from, slots]) =>
    surplus(slots, count(from) - (shares.get(from) ?? 0), inNeed).map((range) => ({ from, range })),
  );
  const moved = new Map<string, { from: string; to: string; ranges: SlotRange[] }>();
  for (const { from, range } of pieces.sort((a, b) => a.range.from - b.range.from)) {
    for (let rest: SlotRange | undefined = range; rest !== undefined;) {
      const { to, taken, left } = give(rest, needs, ownerOf);
      own(to, taken);
      needs.set(to, (needs.get(to) ?? 0) - countSlots([taken]));
      const key = `${from} ${to}`;
      const transfer = moved.get(key) ?? { from, to, ranges: [] };
      moved.set(key, { ...transfer, ranges: normaliseRanges([...transfer.ranges, taken]) });
      rest = left;
    }
  }
  return [...moved.values()];
}

function evenShares(keepers: readonly string[], count: (name: string) => number): Map<string, number> {
  const larger = SLOT_COUNT % keepers.length;
  const byCount = [...keepers].sort((a, b) => count(b) - count(a));
  return new Map(
    byCount.map((name, index) => [name, Math.floor(SLOT_COUNT / keepers.length) + (index < larger ? 1 : 0)]),
  );
}

/** `excess` of the slots: the smallest ranges whole, and one cut on the side where someone in need is the neighbour. */
function surplus(slots: readonly SlotRange[], excess: number, inNeed: (slot: number) => boolean): SlotRange[] {
  const given: SlotRange[] = [];
  let rest = excess;
  for (const range of [...slots].sort((a, b) => countSlots([a]) - countSlots([b]))) {
    if (rest <= 0) break;
    const taken = Math.min(rest, countSlots([range]));
    given.push(
      inNeed(range.from - 1)
        ? { from: range.from, to: range.from + taken - 1 }
        : { from: range.to - taken + 1, to: range.to },
    );
    rest -= taken;
  }
  return given;
}

/** Part of a range, or all of it, for one in need: a neighbour's owner rather than whoever needs most. */
function give(
  range: SlotRange,
  needs: ReadonlyMap<string, number>,
  ownerOf: readonly (string | undefined)[],
): { to: string; taken: SlotRange; left: SlotRange | undefined } {
  const size = countSlots([range]);
  const need = (name: string | undefined): number => needs.get(name ?? "") ?? 0;
  const [before, after] = [ownerOf[range.from - 1], ownerOf[range.to + 1]];
  if (before === undefined || need(before) <= 0) {
    if (after !== undefined && need(after) > 0) {
      const taken = Math.min(size, need(after));
      return {
        to: after,
        taken: { from: range.to - taken + 1, to: range.to },
        left: taken === size ? undefined : { from: range.from, to: range.to - taken },
      };
    }
  }
  const to =
    before !== undefined && need(before) > 0
      ? before
      : [...needs].reduce((most, each) => (each[1] > most[1] ? each : most))[0];
  const taken = Math.min(size, need(to));
  if (taken <= 0) throw new Error("more slots are given than are needed");
  return {
    to,
    taken: { from: range.from, to: range.from + taken - 1 },
    left: taken === size ? undefined : { from: range.from + taken, to: range.to },
  };
}
