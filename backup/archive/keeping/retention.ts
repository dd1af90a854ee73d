/**
 * Deletes old sets of an archive. No clock that a person or a network can set decides what is old: `retention.json`
 * counts the time in which a process wrote to the archive, with a clock that only goes forward. A set is kept for
 * longer if no process runs, or a frozen one.
 */
import { z } from "zod";
import { BadInput } from "../../../lib/errors";
import { type Catalog, type CatalogSet, chooseRestore, readCatalog, setsOf } from "../catalog";
import { writeManifest } from "../checked-file";
import { MANIFEST_VERSION, readManifest } from "../manifests";
import { deleteSet, finishDeletions } from "../sets";
import type { ArchiveStore, Place } from "../store";
import { Holds } from "./holds";
import { type Proof, readLastProof } from "./proofs";

interface NamedSet {
  readonly period: string;
  readonly shard: string;
  readonly set: string;
}

const keyOf = ({ period, shard, set }: NamedSet): string => `${period}/${shard}/${set}`;

const ledgerSchema = z.object({
  version: z.literal(MANIFEST_VERSION),
  /** Time in which a process wrote to the archive, milliseconds. */
  countedMs: z.number().min(0),
  /** Counted time at which each set was first seen to have ended, and its end then, by PERIOD/SHARD/SET. */
  ended: z.record(z.string(), z.object({ at: z.number(), end: z.string() })),
});

export type RetentionLedger = Omit<z.infer<typeof ledgerSchema>, "version">;

const LEDGER = "retention.json";
/** Longest time between two readings of the clock, and between two searches for old sets, milliseconds. */
const COUNT_MS = 60_000;
const SEARCH_MS = 3_600_000;

const endOf = ({ spans, bytes }: Pick<CatalogSet, "spans" | "bytes">): string => `${spans.at(-1)?.to ?? ""} ${bytes}`;

/** Sets that are gone or got data lose their mark. The newest set of each shard in the last period may go on. */
export function markEnded(
  { periods }: Pick<Catalog, "periods">,
  { countedMs, ended }: RetentionLedger,
  live: ReadonlySet<string> = new Set(),
): RetentionLedger {
  const last = periods.at(-1)?.period;
  const marks: Record<string, { at: number; end: string }> = {};
  for (const { period, shards } of periods)
    for (const { name: shard, sets } of shards)
      for (const each of period === last ? sets.slice(0, -1) : sets) {
        const key = keyOf({ period: period.name, shard, set: each.set.name });
        if (live.has(key)) continue;
        const [former, end] = [ended[key], endOf(each)];
        marks[key] = former?.end === end ? former : { at: countedMs, end };
      }
  return { countedMs, ended: marks };
}

/** Keeps damaged sets, and those of the latest data that can be restored and of the last proof. Oldest first. */
export function obsoleteSets(
  catalog: Catalog,
  proof: Proof | undefined,
  { countedMs, ended }: RetentionLedger,
  keepMs: number,
): NamedSet[] {
  const latest = chooseRestore(catalog, undefined);
  // Nothing can be restored, so nothing is known to be of no use.
  if (typeof latest === "string") return [];
  const kept = new Set([
    ...latest.shards.map(({ name, set }) => keyOf({ period: latest.period.name, shard: name, set: set.name })),
    ...(proof?.shards ?? []).map(({ shard, set }) => keyOf({ period: proof?.period ?? "", shard, set })),
  ]);
  return catalog.periods.flatMap(({ period, shards }) =>
    shards.flatMap(({ name: shard, sets }) =>
      sets.flatMap(({ set: { name: set, damage } }) => {
        const named = { period: period.name, shard, set };
        const mark = ended[keyOf(named)];
        const isOld = mark !== undefined && countedMs - mark.at > keepMs;
        return isOld && damage === undefined && !kept.has(keyOf(named)) ? [named] : [];
      }),
    ),
  );
}

export interface Tidied {
  readonly deleted: readonly NamedSet[];
  /** Number of sets that are left, damaged or not. */
  readonly sets: number;
  readonly proof: Proof | undefined;
  readonly startedAt: number | undefined;
}

interface RetentionOptions {
  readonly keepMs: number;
  readonly liveSets: ReadonlySet<string>;
  /** Aborted when a different process has taken over the archive. */
  readonly lost: AbortSignal;
  /** Ends a deletion that has begun. The next process goes on with it. */
  readonly signal: AbortSignal;
  /** Time without a change after which the hold of a restore has ended, milliseconds. @default 10 minutes */
  readonly holdMs?: number | undefined;
  readonly onTidied: (tidied: Tidied) => void | Promise<void>;
  /** The next search goes on with it. */
  readonly onError: (error: unknown) => void;
}

/** Only the process with the lease may use it. */
export class Retention {
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  readonly #countEveryMs: number;
  readonly #holds: Holds;
  #timer: NodeJS.Timeout | undefined;
  #ledger: RetentionLedger | undefined;
  #uncountedMs = 0;
  #countedAt = performance.now();
  #searchedAt = -Infinity;
  #work = Promise.resolve();

  constructor(
    private readonly place: Place,
    private readonly options: RetentionOptions,
  ) {
    this.#signal = AbortSignal.any([options.lost, options.signal, this.#ended.signal]);
    this.#countEveryMs = Math.min(COUNT_MS, options.keepMs);
    this.#holds = new Holds(place, options.holdMs);
  }

  /** Later calls only look for old sets. */
  tidy(): void {
    if (this.#timer === undefined) this.#countedAt = performance.now();
    this.#timer ??= setInterval(() => {
      this.#count();
      const isDue = performance.now() - this.#searchedAt >= Math.min(SEARCH_MS, this.options.keepMs);
      this.#add(() => (isDue ? this.#search() : this.#save()));
    }, this.#countEveryMs);
    this.#add(() => this.#search());
  }

  async end(): Promise<void> {
    clearInterval(this.#timer);
    this.#ended.abort();
    await this.#work;
    if (this.#timer === undefined || this.options.lost.aborted) return;
    this.#count();
    // Time that is not recorded does not count.
    await this.#save().catch(() => undefined);
  }

  #add(work: () => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (this.#signal.aborted) return;
      await work().catch((error: unknown) => {
        if (!this.#signal.aborted) this.options.onError(error);
      });
    });
  }

  /** A process that was frozen or suspended counts at most the time between two readings, twice. */
  #count(): void {
    const now = performance.now();
    this.#uncountedMs += Math.min(now - this.#countedAt, 2 * this.#countEveryMs);
    this.#countedAt = now;
  }

  async #read(): Promise<RetentionLedger> {
    const { countedMs, ended } = this.#ledger ?? (await readLedger(this.place));
    const ledger = { countedMs: countedMs + this.#uncountedMs, ended };
    this.#uncountedMs = 0;
    this.#ledger = ledger;
    return ledger;
  }

  async #save(): Promise<void> {
    await writeManifest(this.place, LEDGER, { version: MANIFEST_VERSION, ...(await this.#read()) });
  }

  async #search(): Promise<void> {
    const { place } = this;
    const { keepMs, liveSets, onTidied } = this.options;
    this.#searchedAt = performance.now();
    this.#count();
    const catalog = await readCatalog(place);
    const stores = new Map(
      catalog.periods.flatMap(({ period, shards }) =>
        shards.map(({ name, store }) => [`${period.name}/${name}`, store] as const),
      ),
    );
    for (const store of stores.values()) await finishDeletions(store, this.#signal);
    const proof = await readLastProof(place, setsOf(catalog));
    const ledger = markEnded(catalog, await this.#read(), liveSets);
    this.#ledger = ledger;
    await this.#save();
    const held = await this.#holds.read();
    const deleted: NamedSet[] = [];
    for (const named of obsoleteSets(catalog, proof, ledger, keepMs)) {
      const store = stores.get(`${named.period}/${named.shard}`);
      this.#signal.throwIfAborted();
      if (store === undefined || held.has(keyOf(named))) continue;
      // A restore may have begun since.
      const isHeld = async (): Promise<boolean> => (await this.#holds.read()).has(keyOf(named));
      if (await deleteSet(store, named.set, this.#signal, isHeld)) deleted.push(named);
    }
    const names = setsOf(catalog);
    for (const { period, shard, set } of catalog.damaged)
      if (shard !== undefined && set !== undefined) names.add(keyOf({ period, shard, set }));
    await onTidied({
      deleted,
      sets: names.size - deleted.length,
      proof,
      startedAt: catalog.periods[0]?.period.startedAt,
    });
  }
}

/** A missing or damaged file counts as a new archive, in which every set has just ended. */
async function readLedger(store: ArchiveStore): Promise<RetentionLedger> {
  if (!(await store.list("")).includes(LEDGER)) return { countedMs: 0, ended: {} };
  try {
    return await readManifest(store, LEDGER, ledgerSchema);
  } catch (error) {
    if (error instanceof BadInput) return { countedMs: 0, ended: {} };
    throw error;
  }
}
