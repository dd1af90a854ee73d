/** Catalog of an archive: the files of each shard, and the times as of which all shards can be restored together. */
import { BadInput, messageOf } from "../../lib/errors";
import type { ArchiveSet, IncrementManifest, StoredIncrement } from "./manifests";
import { listSets, readSet } from "./sets";
import type { RestorePoint } from "./materialize";
import { followedInstants, restorePoint } from "./materialize";
import type { ArchiveOwner, Period } from "./periods";
import { listPeriods, listStrayPeriods, nameTime, readOwner, shardStore } from "./periods";
import type { ArchiveStore } from "./store";

/** Time by which data of one shard may be newer than the last time of all shards without a word, milliseconds. */
const COMMON_MS = 60_000;

/**
 * Span of time as of which data can be restored: its first and its last time, milliseconds since the epoch with
 * fractions.
 */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A set without its increments. A set of a busy shard has tens of thousands of them. */
export interface CatalogSet {
  readonly set: Omit<ArchiveSet, "increments">;
  /** Spans of time as of which this set can be restored, in the order of the stream. */
  readonly spans: readonly Span[];
  /** Time of the last instant, or of the base if it is later, milliseconds since the epoch. */
  readonly end: number;
  /** Total size of the set's RDB file and its files with commands, bytes. */
  readonly bytes: number;
}

export interface CatalogShard {
  readonly name: string;
  readonly slots: string | undefined;
  readonly store: ArchiveStore;
  readonly sets: readonly CatalogSet[];
}

export interface CatalogPeriod {
  readonly period: Period;
  readonly shards: readonly CatalogShard[];
  /** Spans of time as of which every shard can be restored, ascending. */
  readonly spans: readonly Span[];
}

/** Data that are in an archive and cannot be restored, because a file is damaged or missing. */
export interface Damage {
  /** Text for the user: the damaged set or period, and the reason why it cannot be restored. */
  readonly text: string;
  /**
   * Time before which the damaged data were written, milliseconds since the epoch: the beginning of the next set or
   * period. Infinity if nothing follows.
   */
  readonly until: number;
}

export interface Catalog {
  readonly owner: ArchiveOwner;
  readonly periods: readonly CatalogPeriod[];
  readonly damaged: readonly Damage[];
}

/** Names of all sets, as PERIOD/SHARD/SET. Pure. */
export function setsOf({ periods }: Pick<Catalog, "periods">): Set<string> {
  const names = periods.flatMap(({ period, shards }) =>
    shards.flatMap(({ name, sets }) => sets.map(({ set }) => `${period.name}/${name}/${set.name}`)),
  );
  return new Set(names);
}

/** The sets that have a time, in the order of the shards. */
export interface Choice {
  readonly owner: ArchiveOwner;
  readonly period: Period;
  /** The time, milliseconds since the epoch. */
  readonly at: number;
  readonly shards: readonly (Pick<CatalogShard, "name" | "slots" | "store"> & Pick<CatalogSet, "set">)[];
}

/** The sets from which a deployment is restored, in the order of the shards. */
export interface Restore {
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

/**
 * Reads the manifests of an archive. Those of the increments are read one set at a time, and are not kept.
 * @param folder name of the archive, for messages
 * @throws BadInput if there is no archive, and for damaged manifests of the archive and its periods
 */
export async function readCatalog(store: ArchiveStore, folder: string): Promise<Catalog> {
  const owner = await readOwner(store);
  if (owner === undefined) throw new BadInput(folder, ["there is no archive; the command `archive` makes one"]);
  const damaged: Damage[] = [];
  const periods: CatalogPeriod[] = [];
  const listed = await listPeriods(store);
  for (const name of await listStrayPeriods(store))
    damaged.push({
      text: `${name}: the manifest of the period is missing`,
      until: listed.find((each) => each.name > name)?.startedAt ?? Infinity,
    });
  for (const [index, period] of listed.entries()) {
    const end = period.endedAt ?? listed[index + 1]?.startedAt ?? Infinity;
    const shards: CatalogShard[] = [];
    for (const { name, slots } of period.shards) {
      const sets = shardStore(store, period, name);
      const found: CatalogSet[] = [];
      const names = await listSets(sets);
      for (const [place, set] of names.entries()) {
        const following = names[place + 1];
        const until = following === undefined ? end : nameTime(following) || end;
        try {
          const read = await readSet(sets, set);
          found.push(catalogSet(read, period.endedAt));
          if (read.damage !== undefined)
            damaged.push({ text: `${period.name}/${name}/set ${set}: ${read.damage}`, until });
        } catch (error) {
          damaged.push({ text: `${period.name}/${name}/${messageOf(error)}`, until });
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
  return { owner, periods, damaged };
}

function catalogSet({ increments, ...set }: ArchiveSet, endedAt = Infinity): CatalogSet {
  const instants = increments.flatMap((increment) => increment.instants);
  return {
    set,
    spans: spansOf(instants.filter(([time]) => time <= endedAt)),
    end: instants.reduce((end, [time]) => Math.max(end, time), set.base.startedAt),
    bytes: increments.reduce((sum, { size }) => sum + size, set.base.size),
  };
}

/**
 * Spans of time as of which data can be restored. A span ends if the next instant has a different offset and is more
 * than 5 s later, because the archive did not follow the server in between. The ends are not rounded, because the data
 * of the last instant would be lost without its last fraction of a millisecond. Pure.
 */
export function spansOf(instants: IncrementManifest["instants"]): Span[] {
  return followedInstants(instants).map((each) => ({
    from: each[0]?.[0] ?? Infinity,
    to: each.at(-1)?.[0] ?? -Infinity,
  }));
}

/**
 * The first and the last whole millisecond of a span, so that users can name these times. For a span without a whole
 * millisecond, the last one before it. Pure.
 */
export function wholeMilliseconds({ from, to }: Span): Span {
  const last = Math.floor(to);
  return { from: Math.min(Math.ceil(from), last), to: last };
}

/** Spans of time that are covered in every one of the lists. Pure. */
export function commonSpans(lists: readonly (readonly Span[])[]): Span[] {
  const [first = [], ...others] = lists;
  return others
    .reduce<readonly Span[]>(
      (common, list) =>
        common.flatMap((a) =>
          list.flatMap((b) => {
            const span = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
            return span.from > span.to ? [] : [span];
          }),
        ),
      first,
    )
    .toSorted((a, b) => a.from - b.from);
}

/**
 * Chooses the sets from which all shards can be restored as of a time.
 * @param at time to restore, milliseconds since the epoch. Undefined for the latest time that can be restored
 * @param notAfter limit of the latest time, milliseconds since the epoch. @default no limit
 * @returns a text with the nearest times if the archive cannot restore this time. Pure
 */
export function chooseRestore(
  { owner, periods }: Catalog,
  at: number | undefined,
  notAfter = Infinity,
): Choice | string {
  const spans = periods.flatMap((each) => each.spans);
  const reached = spans.filter(({ from }) => from <= notAfter);
  const latest = Math.max(...reached.map(({ to }) => Math.min(to, notAfter)));
  if (spans.length === 0) return "no set can be restored yet: no time has an instant of every shard";
  if (at === undefined && reached.length === 0) return outside(spans, notAfter);
  const wanted = at ?? latest;
  const chosen = periods.findLast((each) => each.spans.some(({ from, to }) => from <= wanted && wanted <= to));
  if (chosen === undefined) return outside(spans, wanted);
  return {
    owner,
    period: chosen.period,
    at: wanted,
    shards: chosen.shards.map(({ name, slots, store, sets }) => {
      const found = sets.findLast((each) => each.spans.some(({ from, to }) => from <= wanted && wanted <= to));
      if (found === undefined) throw new Error(`${name} has no set for a time that all shards have`);
      return { name, slots, store, set: found.set };
    }),
  };
}

/**
 * Reads the increments of chosen sets, and finds the instant of each shard.
 * @throws BadInput if a set has been deleted or damaged since the catalog was read
 */
export async function readRestore({ at, shards, ...choice }: Choice): Promise<Restore> {
  const read: Restore["shards"][number][] = [];
  for (const { set: chosen, ...shard } of shards) {
    const set = await readSet(shard.store, chosen.name);
    const point = restorePoint(set, at);
    read.push({ ...shard, set: { ...set, increments: neededIncrements(set, point) }, point });
  }
  return { ...choice, shards: read };
}

/**
 * The increments that a restore loads, without their instants. A set has many increments for each minute, and the sets of
 * all shards are in memory during a restore.
 */
function neededIncrements({ increments }: ArchiveSet, { offset }: RestorePoint): StoredIncrement[] {
  return increments.flatMap((each) => (each.from < offset ? [{ ...each, instants: [] }] : []));
}

/**
 * Shards with archived data that are newer than the last time of all shards by more than a minute, as text. Such data
 * cannot be restored together with the other shards, because no later time has an instant of every shard. Pure.
 * @param notAfter limit of the last time, milliseconds since the epoch. @default no limit
 */
export function newerShards(
  { periods }: Pick<Catalog, "periods">,
  { at }: Pick<Choice, "at">,
  notAfter = Infinity,
): string[] {
  const last = new Map<string, number>();
  for (const { name, sets } of periods.flatMap(({ shards }) => shards))
    for (const { from, to } of sets.flatMap(({ spans }) => spans))
      if (from <= notAfter) last.set(name, Math.max(last.get(name) ?? -Infinity, Math.min(to, notAfter)));
  return [...last].flatMap(([name, time]) =>
    time > at + COMMON_MS ? [`${name} has data until ${formatTime(time)}`] : [],
  );
}

/** Damaged parts of an archive that may contain data newer than the state that a restore chooses. Pure. */
export function newerDamage({ damaged }: Pick<Catalog, "damaged">, { shards }: Pick<Restore, "shards">): Damage[] {
  const first = Math.min(...shards.map(({ point }) => point.at));
  return damaged.filter(({ until }) => until > first);
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

/** A time as text: ISO 8601 with milliseconds, UTC. */
export function formatTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
