import { BadInput, messageOf } from "../../lib/errors";
import type { ArchiveSet, IncrementManifest, StoredIncrement } from "./manifests";
import { listSets, readSet } from "./sets";
import { type RestorePoint, followedInstants, restorePoint } from "./materialize";
import { type ArchiveOwner, type Period, listPeriods, listStrayPeriods, readOwner, shardStore } from "./periods";
import type { ArchiveStore, Place } from "./store";

/** Time by which data of one shard may be newer than the last time of all shards without a word, milliseconds. */
const COMMON_MS = 60_000;

/** First and last time as of which data can be restored, milliseconds since the epoch with fractions. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

interface SetSpan extends Span {
  readonly first: number;
  readonly last: number;
}

/** A set of a busy shard has tens of thousands of them. */
export interface CatalogSet {
  readonly set: Omit<ArchiveSet, "increments">;
  readonly spans: readonly SetSpan[];
  /** Replication ID of the stream at the end of the set. */
  readonly replid: string;
  readonly bytes: number;
}

interface CatalogShard {
  readonly name: string;
  readonly slots: string | undefined;
  readonly store: ArchiveStore;
  readonly sets: readonly CatalogSet[];
}

export interface CatalogPeriod {
  readonly period: Period;
  readonly shards: readonly CatalogShard[];
  readonly spans: readonly Span[];
}

interface Damage {
  readonly text: string;
  readonly period: string;
  /** Undefined if the whole period is damaged. */
  readonly shard?: string;
  readonly set?: string;
}

export interface Catalog {
  readonly place: Place;
  readonly owner: ArchiveOwner;
  readonly periods: readonly CatalogPeriod[];
  readonly damaged: readonly Damage[];
}

/** Names of all sets, as PERIOD/SHARD/SET. */
export function setsOf({ periods }: Pick<Catalog, "periods">): Set<string> {
  const names = periods.flatMap(({ period, shards }) =>
    shards.flatMap(({ name, sets }) => sets.map(({ set }) => `${period.name}/${name}/${set.name}`)),
  );
  return new Set(names);
}

export interface Choice {
  readonly place: Place;
  readonly owner: ArchiveOwner;
  readonly period: Period;
  /** The time, milliseconds since the epoch. */
  readonly at: number;
  readonly shards: readonly (Pick<CatalogShard, "name" | "slots" | "store"> &
    Pick<CatalogSet, "set"> & {
      /** Offset of the last instant of the chosen span of time. */
      readonly last: number;
    })[];
}

export interface Restore {
  readonly place: Place;
  readonly owner: ArchiveOwner;
  readonly period: Period;
  readonly shards: readonly {
    readonly name: string;
    readonly slots: string | undefined;
    readonly store: ArchiveStore;
    readonly set: ArchiveSet;
    readonly point: RestorePoint;
  }[];
}

/** Increments are read one set at a time and not kept. @throws BadInput without an archive or intact manifests */
export async function readCatalog(place: Place): Promise<Catalog> {
  const owner = await readOwner(place);
  if (owner === undefined)
    throw BadInput.of(place.label, "no-archive", "there is no archive; the command `archive` makes one");
  const damaged: Damage[] = [];
  const periods: CatalogPeriod[] = [];
  for (const period of await listStrayPeriods(place))
    damaged.push({ text: `${period}: the manifest of the period is missing`, period });
  for (const period of await listPeriods(place)) {
    const shards: CatalogShard[] = [];
    for (const { name, slots } of period.shards) {
      const sets = shardStore(place, period, name);
      const found: CatalogSet[] = [];
      for (const set of await listSets(sets)) {
        const where = { period: period.name, shard: name, set };
        try {
          const read = await readSet(sets, set);
          found.push(catalogSet(read, period.endedAt));
          if (read.damage !== undefined)
            damaged.push({ text: `${period.name}/${name}/set ${set}: ${read.damage}`, ...where });
        } catch (error) {
          damaged.push({ text: `${period.name}/${name}/${messageOf(error)}`, ...where });
        }
      }
      shards.push({ name, slots, store: sets, sets: found });
    }
    periods.push({
      period,
      shards,
      spans: commonSpans(shards.map((shard) => shard.sets.flatMap((set) => set.spans))),
    });
  }
  return { place, owner, periods, damaged };
}

function catalogSet({ increments, ...set }: ArchiveSet, endedAt = Infinity): CatalogSet {
  const instants = increments.flatMap((increment) => increment.instants);
  // By position, because the time of an earlier instant is later if a clock was set back.
  const end = instants.findLastIndex(([time]) => time <= endedAt) + 1;
  return {
    set,
    spans: spansOf(instants.slice(0, end)),
    replid: increments.at(-1)?.replid ?? set.base.replid,
    bytes: increments.reduce((sum, { size }) => sum + size, set.base.size),
  };
}

/**
 * Divides where the archive did not follow the server: the next instant has a different offset more than 5 s later. The
 * ends are not rounded, because the data of the last instant would be lost.
 */
export function spansOf(instants: IncrementManifest["instants"]): SetSpan[] {
  return followedInstants(instants).flatMap((each) => {
    const [begin, end] = [each[0], each.at(-1)];
    return begin && end ? [{ from: begin[0], to: end[0], first: begin[1], last: end[1] }] : [];
  });
}

/** Users can name these times. For a span without a whole millisecond, the last one before it. */
export function wholeMilliseconds({ from, to }: Span): Span {
  const last = Math.floor(to);
  return { from: Math.min(Math.ceil(from), last), to: last };
}

export function commonSpans(lists: readonly (readonly Span[])[]): Span[] {
  const [first = [], ...others] = lists.map((list) => list.map(({ from, to }) => ({ from, to })));
  return others.reduce<Span[]>(
    (common, list) =>
      common.flatMap((a) =>
        list.flatMap((b) => {
          const span = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
          return span.from > span.to ? [] : [span];
        }),
      ),
    first,
  );
}

interface PlacedSpan extends SetSpan {
  readonly period: CatalogPeriod;
  readonly found: CatalogSet;
}

const placedSpans = (period: CatalogPeriod, { sets }: CatalogShard, notAfter = Infinity): PlacedSpan[] =>
  sets.flatMap((found) =>
    found.spans.flatMap((span) =>
      span.from <= notAfter ? [{ ...span, to: Math.min(span.to, notAfter), period, found }] : [],
    ),
  );

/** A set is newer than the sets before it, unless its stream is theirs and has not come as far yet. */
function newestSpan(spans: readonly PlacedSpan[]): PlacedSpan | undefined {
  return spans.reduce<PlacedSpan | undefined>(
    (newest, span) => (newest?.found.replid === span.found.set.base.replid && span.last < newest.last ? newest : span),
    undefined,
  );
}

/** Sets that may be written at the same time, because the later one begins before the earlier one ends, overlap by less. */
const OVERLAP_MS = 5_000;

/** Whether a clock was set back between two spans that have a common time. */
function isRepeated(earlier: PlacedSpan, later: PlacedSpan): boolean {
  if (earlier.found === later.found && earlier.period === later.period) return earlier.last < later.last;
  const areAtOnce =
    earlier.period === later.period &&
    earlier.found.replid === later.found.set.base.replid &&
    later.first < earlier.last;
  return !areAtOnce && Math.min(earlier.to, later.to) - Math.max(earlier.from, later.from) > OVERLAP_MS;
}

/** By position, whatever the times are: the last time that the newest spans of all shards of a period have. */
function latestTime(periods: readonly CatalogPeriod[], notAfter: number): number | undefined {
  for (const period of periods.toReversed()) {
    const newest = period.shards.map((shard) => newestSpan(placedSpans(period, shard, notAfter)));
    const at = Math.min(...newest.map((span) => span?.to ?? -Infinity));
    if (newest.length > 0 && newest.every((span) => span !== undefined && span.from <= at)) return at;
    const common = commonSpans(period.shards.map((shard) => placedSpans(period, shard, notAfter))).at(-1);
    if (common !== undefined) return common.to;
  }
  return undefined;
}

/** Undefined `at`: the newest data by position. @returns a text if the time cannot be restored or exists twice */
export function chooseRestore(
  { place, owner, periods }: Catalog,
  at: number | undefined,
  notAfter = Infinity,
): Choice | string {
  const spans = periods.flatMap((each) => each.spans);
  if (spans.length === 0) return "no set can be restored yet: no time has an instant of every shard";
  const wanted = at ?? latestTime(periods, notAfter);
  if (wanted === undefined) return outside(spans, notAfter);
  const chosen = periods.findLast((each) => each.spans.some((span) => covers(span, wanted)));
  if (chosen === undefined) return outside(spans, wanted);
  const repeated = at === undefined ? undefined : repeatedTime(periods, at);
  if (repeated !== undefined) return repeated;
  return {
    ...{ place, owner },
    period: chosen.period,
    at: wanted,
    shards: chosen.shards.map((shard) => {
      const { name, slots, store } = shard;
      const found = newestSpan(placedSpans(chosen, shard).filter((span) => covers(span, wanted)));
      if (found === undefined) throw new Error(`${name} has no set for a time that all shards have`);
      return { name, slots, store, set: found.found.set, last: found.last };
    }),
  };
}

const covers = ({ from, to }: Span, time: number): boolean => from <= time && time <= to;

/** The reason why a time names no state: a shard had different data at two times with this name. */
function repeatedTime(periods: readonly CatalogPeriod[], at: number): string | undefined {
  const shards = new Map<string, PlacedSpan[]>();
  for (const period of periods)
    for (const shard of period.shards)
      shards.set(shard.name, [
        ...(shards.get(shard.name) ?? []),
        ...placedSpans(period, shard).filter((span) => covers(span, at)),
      ]);
  for (const [name, spans] of shards)
    for (const [index, earlier] of spans.entries())
      for (const later of spans.slice(index + 1))
        if (isRepeated(earlier, later)) {
          const common = { from: Math.max(earlier.from, later.from), to: Math.min(earlier.to, later.to) };
          const { from, to } = wholeMilliseconds(common);
          return (
            `${formatTime(at)} is in the archive twice, with different data of ${name}, because a clock was set back; ` +
            `name a time before ${formatTime(from)} or after ${formatTime(to)}, or take the newest data (without a time)`
          );
        }
  return undefined;
}

/** @throws BadInput if a set has been deleted or damaged since the catalog was read */
export async function readRestore({ at, shards, ...choice }: Choice): Promise<Restore> {
  const read: Restore["shards"][number][] = [];
  for (const { set: chosen, last, ...shard } of shards) {
    const set = await readSet(shard.store, chosen.name);
    const point = restorePoint(set, at, last);
    read.push({ ...shard, set: { ...set, increments: neededIncrements(set, point) }, point });
  }
  return { ...choice, shards: read };
}

/** A set has many increments for each minute, and the sets of all shards are in memory during a restore. */
function neededIncrements({ increments }: ArchiveSet, { offset }: RestorePoint): StoredIncrement[] {
  return increments.flatMap((each) => (each.from < offset ? [{ ...each, instants: [] }] : []));
}

/** Shards with data over a minute newer, by position, than those of all shards: they cannot be restored together. */
export function newerShards(
  { periods }: Pick<Catalog, "periods">,
  { at }: Pick<Choice, "at">,
  notAfter = Infinity,
): string[] {
  const last = new Map<string, number>();
  for (const period of periods)
    for (const shard of period.shards) {
      const newest = newestSpan(placedSpans(period, shard, notAfter));
      if (newest !== undefined) last.set(shard.name, newest.to);
    }
  return [...last].flatMap(([name, time]) =>
    Math.abs(time - at) > COMMON_MS ? [`${name} has data until ${formatTime(time)}`] : [],
  );
}

/** Names of periods and sets sort in the order of the stream. */
export function newerDamage(
  { damaged }: Pick<Catalog, "damaged">,
  { period: { name }, shards }: Pick<Restore, "period" | "shards">,
): Damage[] {
  const chosen = new Map(shards.map((shard) => [shard.name, shard.set.name]));
  return damaged.filter(
    ({ period, shard = "", set = "" }) => period > name || (period === name && set >= (chosen.get(shard) ?? "")),
  );
}

function outside(spans: readonly Span[], at: number): string {
  const named = spans.map(wholeMilliseconds);
  const before = named.map(({ to }) => to).filter((to) => to < at);
  const after = named.map(({ from }) => from).filter((from) => from > at);
  const nearest = [
    ...(before.length === 0 ? [] : [`${formatTime(Math.max(...before))} before it`]),
    ...(after.length === 0 ? [] : [`${formatTime(Math.min(...after))} after it`]),
  ];
  return `${formatTime(at)} cannot be restored; the nearest times that can be restored are ${nearest.join(" and ")}`;
}

export function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
