/** The keys that a test needs on one primary, cut into slices that one script call fills, counts or removes. Pure. */
import type { SlotRange } from "../../valkey/topology/slots";
import { SLOT_COUNT } from "../../valkey/topology/slots";
import { keyInfixes, keysPerInfix } from "./key-space";
import { ZSET_MEMBERS } from "./mixed-workload";
import type { Prefill } from "./named-tests";

/** How large a prefill is. */
export interface PrefillSize {
  /** Distinct keys of each family. */
  readonly keySpace: number;
  /** Bytes per value. */
  readonly dataSize: number;
  /** Elements that a `stock` must hold over all primaries. */
  readonly stock: number;
}

/** Purpose for which a script call uses its slice. */
export type SliceAction = "fill" | "count" | "remove";

/** Argument of prefill.lua, which describes the keys. */
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

/** All keys of a prefill on one primary. */
export interface KeyExtent {
  readonly kind: "numbered" | "sorted-sets" | "list" | "set" | "hash" | "zset" | "any";
  readonly family: string;
  /** Numbers behind each infix, from 0 to count − 1. */
  readonly count: number;
  readonly value: string;
  /**
   * True where keys carry no hash tag, so that only their own slots tell which node serves them: numbered from 1,
   * without leading zeros.
   */
  readonly isUntagged: boolean;
  /** Sizes that numbered keys take in turn, in place of the value. */
  readonly valueSizes?: readonly number[] | undefined;
}

/** Slots of a primary; undefined in replication mode. */
type Slots = readonly SlotRange[] | undefined;

/** Keys or elements that one script call writes: a few milliseconds of a server's time. */
export const SLICE_KEYS = 2_000;

/** The keys of a prefill on the primary that serves these slots. */
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

/**
 * Keys that the primary holds once the extent is filled. For untagged keys only the sum over all primaries is known.
 */
export function expectedKeys(extent: KeyExtent, slots: Slots): number | undefined {
  if (extent.isUntagged) return undefined;
  return keyInfixes(slots).length * (isNumbered(extent) ? extent.count : 1);
}

/** Slices that cover the extent, each for one script call. */
export function keySlices(action: SliceAction, extent: KeyExtent, slots: Slots): KeySlice[] {
  const { kind, family, value, valueSizes, isUntagged } = extent;
  const infixes = isUntagged ? [""] : keyInfixes(slots);
  // A collection is one key: one call counts or removes it, however many elements it has.
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

/** Whether the extent has a key for each number, not one key with an element for each. */
function isNumbered({ kind }: KeyExtent): boolean {
  return kind === "numbered" || kind === "sorted-sets";
}

/** Factor by which the fastest primary may receive more than its share of the removals. */
const FASTER_SHARE = 1.25;
/** −ln of the chance that one tag runs short: with 16384 tags, one run in a million. */
const RARITY = 24;

/**
 * Elements per tag. Removals fall on tags at random; Bernstein's inequality bounds how many fall on one, for small
 * means too.
 */
function stockPerInfix(stock: number, infixes: number): number {
  if (infixes === 1) return stock;
  const mean = (FASTER_SHARE * stock) / infixes;
  return 1 + Math.ceil(mean + RARITY / 3 + Math.sqrt((RARITY / 3) ** 2 + 2 * RARITY * mean));
}

/**
 * Fraction of all slots, at least a tenth: a call looks at ten times as many foreign keys at most, which cost a server
 * time too.
 */
function servedFraction(slots: Slots): number {
  if (slots === undefined) return 1;
  return Math.max(0.1, slots.reduce((sum, { from, to }) => sum + to - from + 1, 0) / SLOT_COUNT);
}
