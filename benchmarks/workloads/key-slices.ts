import { type SlotRange, SLOT_COUNT } from "../../valkey/topology/slots";
import { slotTags } from "../../valkey/topology/slot-tags";
import { ZSET_MEMBERS } from "./mixed-workload";
import type { Prefill } from "./named-tests";

export interface PrefillSize {
  readonly keySpace: number;
  /** Size of one value, bytes. */
  readonly dataSize: number;
  /** Number of elements that must exist on all primaries together before a test that removes elements. */
  readonly stock: number;
}

export type SliceAction = "fill" | "count" | "remove";

export interface NeededKeys {
  readonly what: Prefill;
  readonly size: PrefillSize;
}

export interface KeyNames {
  /** `functions` stands for the function library instead of keys. */
  readonly family: string;
  /** Number of keys with the same infix; null for a single key without a number. */
  readonly count: number | null;
  /** Such keys are numbered from 1, without leading zeros. */
  readonly isUntagged: boolean;
}

export interface KeySlice {
  readonly action: SliceAction;
  readonly kind: KeyExtent["kind"];
  readonly family: string;
  readonly infixes: readonly string[];
  readonly first: number;
  readonly last: number;
  readonly numberFormat: string;
  readonly value: string;
  readonly valueSizes?: readonly number[] | undefined;
  readonly members: number;
  readonly slots?: readonly (readonly [from: number, to: number])[] | undefined;
}

export interface KeyExtent {
  readonly kind: "numbered" | "sorted-sets" | "list" | "set" | "hash" | "zset" | "any";
  readonly family: string;
  /** With the same infix: the text between the family and the number, 0 to count − 1, in the name of a key. */
  readonly count: number;
  readonly value: string;
  /** The slot then depends on the whole key. Numbers count from 1, without leading zeros. */
  readonly isUntagged: boolean;
  /** The numbered keys use these sizes in turn, instead of the size of `value`. */
  readonly valueSizes?: readonly number[] | undefined;
}

export const FUNCTIONS = "functions";

/** Slots of a primary; undefined in replication mode. */
type Slots = readonly SlotRange[] | undefined;

/** A call of prefill.lua with so many occupies the server for a few milliseconds. */
export const SLICE_KEYS = 2_000;

export function keyExtent(what: Exclude<Prefill, { kind: "functions" }>, size: PrefillSize, slots: Slots): KeyExtent {
  const isCluster = slots !== undefined;
  const perInfix = keysPerInfix(size.keySpace, isCluster);
  const tagged = { family: what.family, count: perInfix, value: "x".repeat(size.dataSize), isUntagged: false };
  switch (what.kind) {
    case "strings":
      return { ...tagged, kind: "numbered", valueSizes: what.sizes };
    case "zsets":
      return { ...tagged, kind: "sorted-sets" };
    case "plain":
      return {
        ...tagged,
        kind: what.type === "string" ? "numbered" : "sorted-sets",
        count: size.keySpace,
        isUntagged: true,
      };
    case "counters":
      return { ...tagged, kind: "numbered", value: "0" };
    case "members":
      return { ...tagged, kind: what.type };
    case "list":
      return { ...tagged, kind: "list", count: what.length };
    case "grown":
      return { ...tagged, kind: "any", count: 1 };
    case "stock":
      return { ...tagged, kind: what.type, count: stockPerInfix(size.stock, isCluster ? SLOT_COUNT : 1) };
  }
}

export function keyNames({ what, size }: NeededKeys, isCluster: boolean): KeyNames {
  if (what.kind === "functions") return { family: FUNCTIONS, count: null, isUntagged: false };
  const extent = keyExtent(what, size, isCluster ? [] : undefined);
  const { family, count, isUntagged } = extent;
  return { family, count: isNumbered(extent) ? count : null, isUntagged };
}

export function extentOf({ family, count, isUntagged }: KeyNames): KeyExtent {
  return { kind: count === null ? "any" : "numbered", family, count: count ?? 1, value: "", isUntagged };
}

/** Undefined for keys without a hash tag, because for such keys only the sum over all primaries is known. */
export function expectedKeys(extent: KeyExtent, slots: Slots): number | undefined {
  if (extent.isUntagged) return undefined;
  return keyInfixes(slots).length * (isNumbered(extent) ? extent.count : 1);
}

export function keySlices(action: SliceAction, extent: KeyExtent, slots: Slots): KeySlice[] {
  const { kind, family, value, valueSizes, isUntagged } = extent;
  const infixes = isUntagged ? [""] : keyInfixes(slots);
  // A collection is a single key, so one call counts or removes it, whatever its number of elements.
  const perInfix = isNumbered(extent) || action === "fill" ? extent.count : 1;
  const infixesAtOnce = Math.max(1, Math.floor(SLICE_KEYS / Math.max(1, perInfix)));
  const from = isUntagged ? 1 : 0;
  const step = isUntagged ? Math.floor(SLICE_KEYS / servedFraction(slots)) : SLICE_KEYS;
  const common = {
    action,
    kind,
    family,
    numberFormat: isUntagged ? "%d" : ":%012d",
    value,
    valueSizes,
    members: ZSET_MEMBERS,
    slots: isUntagged ? slots?.map((range) => [range.from, range.to] as const) : undefined,
  };
  const slices: KeySlice[] = [];
  for (let i = 0; i < infixes.length; i += infixesAtOnce) {
    for (let first = from; first < perInfix + from; first += step) {
      const last = Math.min(first + step, perInfix + from) - 1;
      slices.push({ ...common, first, last, infixes: infixes.slice(i, i + infixesAtOnce) });
    }
  }
  return slices;
}

/** Whether each of the `count` numbers names a key of its own. If false, the numbers are elements of one key. */
function isNumbered({ kind }: KeyExtent): boolean {
  return kind === "numbered" || kind === "sorted-sets";
}

/** Highest expected share of a primary, in equal shares: faster primaries receive more requests. */
const FASTER_SHARE = 1.25;
/** −ln p of an empty collection: with 16384 hash tags, fewer than one run in a million has one. */
const RARITY = 24;

/** So that a test empties no collection: Bernstein's inequality limits the requests with the same tag. */
function stockPerInfix(stock: number, infixes: number): number {
  if (infixes === 1) return stock;
  const mean = (FASTER_SHARE * stock) / infixes;
  return 1 + Math.ceil(mean + RARITY / 3 + Math.sqrt((RARITY / 3) ** 2 + 2 * RARITY * mean));
}

/** At least a tenth: a call for keys without hash tags also skips keys of other primaries, which costs server time. */
function servedFraction(slots: Slots): number {
  if (slots === undefined) return 1;
  return Math.max(0.1, slots.reduce((sum, { from, to }) => sum + to - from + 1, 0) / SLOT_COUNT);
}

/**
 * Text between a name such as `key` and its number: in a cluster hash tags such as `:{06S}`, one for each slot;
 * otherwise empty. A tag with two letters has two closing braces, because valkey-benchmark fills three characters.
 */
export function keyInfixes(slots: readonly SlotRange[] | undefined): string[] {
  if (slots === undefined) return [""];
  const all = slotTags();
  return slots.flatMap(({ from, to }) => all.slice(from, to + 1).map((tag) => `:{${tag.padEnd(3, "}")}}`));
}

/** In a cluster there is an infix for each slot, in replication mode a single one. */
export function keysPerInfix(keySpace: number, isCluster: boolean): number {
  return isCluster ? keySpace / SLOT_COUNT : keySpace;
}

/** A number with twelve digits. valkey-benchmark writes numbers in this form into keys. */
export function keyNumber(value: number): string {
  return String(value).padStart(12, "0");
}

export function zsetMember(number: number): string {
  return `element:${keyNumber(number)}`;
}
