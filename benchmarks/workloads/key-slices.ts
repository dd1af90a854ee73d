/**
 * The keys that a test needs on one primary. These keys are divided into slices. One call of the script prefill.lua
 * fills, counts or removes one slice. Pure.
 */
import type { SlotRange } from "../../valkey/topology/slots";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import { keyInfixes, keysPerInfix } from "./key-space";
import { ZSET_MEMBERS } from "./mixed-workload";
import type { Prefill } from "./named-tests";

/** Numbers and sizes of the keys and elements that are written before a test. */
export interface PrefillSize {
  /** Number of different keys of each family. All keys of a family begin with the same text. */
  readonly keySpace: number;
  /** Size of one value, bytes. */
  readonly dataSize: number;
  /** Number of elements that must exist on all primaries together before a test that removes elements. */
  readonly stock: number;
}

/** The action that a call of the script prefill.lua performs on its slice. */
export type SliceAction = "fill" | "count" | "remove";

/** The keys that a test needs, with their numbers and sizes. */
export interface NeededKeys {
  readonly what: Prefill;
  readonly size: PrefillSize;
}

/** Names of keys with the same purpose. */
export interface KeyNames {
  /** Beginning of the names, such as `counter`. `functions` stands for the function library instead of keys. */
  readonly family: string;
  /** Number of keys with the same infix; null for a single key without a number. */
  readonly count: number | null;
  /** Whether keys have no hash tag. Such keys are numbered from 1, without leading zeros. */
  readonly isUntagged: boolean;
}

/** Argument of prefill.lua. It describes the keys of a slice. */
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

/** The keys that a test needs on one primary, before they are divided into slices. */
export interface KeyExtent {
  readonly kind: "numbered" | "sorted-sets" | "list" | "set" | "hash" | "zset" | "any";
  readonly family: string;
  /**
   * Number of keys or elements with the same infix. The infix is the text between the family and the number in the name
   * of a key. The numbers are 0 to count − 1.
   */
  readonly count: number;
  readonly value: string;
  /**
   * Whether keys have no hash tag. The slot of such a key depends on the whole key. Such keys are numbered from 1,
   * without leading zeros.
   */
  readonly isUntagged: boolean;
  /**
   * Sizes of the values. The numbered keys use these sizes in turn. If this list is set, the size of `value` is not
   * used.
   */
  readonly valueSizes?: readonly number[] | undefined;
}

/** Family that stands for the function library. */
export const FUNCTIONS = "functions";

/** Slots of a primary; undefined in replication mode. */
type Slots = readonly SlotRange[] | undefined;

/**
 * Number of keys or elements that one call of the script prefill.lua writes. A call occupies the server for a few
 * milliseconds.
 */
export const SLICE_KEYS = 2_000;

/** The keys that a prefill writes on the primary with the given slots. */
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

/** The names of all keys that a prefill, or the test after it, writes. */
export function keyNames({ what, size }: NeededKeys, isCluster: boolean): KeyNames {
  if (what.kind === "functions") return { family: FUNCTIONS, count: null, isUntagged: false };
  const extent = keyExtent(what, size, isCluster ? [] : undefined);
  const { family, count, isUntagged } = extent;
  return { family, count: isNumbered(extent) ? count : null, isUntagged };
}

/** The keys with the given names, for calls of the script prefill.lua that count or remove them. */
export function extentOf({ family, count, isUntagged }: KeyNames): KeyExtent {
  return { kind: count === null ? "any" : "numbered", family, count: count ?? 1, value: "", isUntagged };
}

/**
 * Number of keys on the primary after the prefill; undefined for keys without a hash tag, because for such keys only
 * the sum over all primaries is known.
 */
export function expectedKeys(extent: KeyExtent, slots: Slots): number | undefined {
  if (extent.isUntagged) return undefined;
  return keyInfixes(slots).length * (isNumbered(extent) ? extent.count : 1);
}

/** Divides the keys of a primary into slices. Each slice is for one call of the script prefill.lua. */
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

/**
 * Highest expected number of requests that one primary receives from a test that removes elements, as a multiple of an
 * equal share. The factor is above 1, because faster primaries receive more requests.
 */
const FASTER_SHARE = 1.25;
/**
 * Accepted probability p that the collection of a hash tag has too few elements, as −ln p. A test in a cluster uses
 * 16384 hash tags, so fewer than one run in a million has a collection with too few elements.
 */
const RARITY = 24;

/**
 * Number of elements that the collection of each hash tag needs, so that a test empties no collection. The requests of
 * the test choose hash tags at random. Bernstein's inequality limits the number of requests with the same tag, even if
 * their mean number is small.
 */
function stockPerInfix(stock: number, infixes: number): number {
  if (infixes === 1) return stock;
  const mean = (FASTER_SHARE * stock) / infixes;
  return 1 + Math.ceil(mean + RARITY / 3 + Math.sqrt((RARITY / 3) ** 2 + 2 * RARITY * mean));
}

/**
 * Fraction of all slots that the primary serves, but at least a tenth. A call for keys without hash tags also visits
 * and skips the keys of other primaries, which costs server time. With the minimum of a tenth, a call visits at most
 * ten times as many keys as usual.
 */
function servedFraction(slots: Slots): number {
  if (slots === undefined) return 1;
  return Math.max(0.1, slots.reduce((sum, { from, to }) => sum + to - from + 1, 0) / SLOT_COUNT);
}
