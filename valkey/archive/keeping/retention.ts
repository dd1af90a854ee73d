/** Deletes old sets of an archive. A set is an RDB file of one shard with the commands after it. */
import type { Catalog } from "../catalog";
import { chooseRestore, readCatalog, setsOf } from "../catalog";
import { deleteSet, finishDeletions } from "../sets";
import type { Place } from "../store";
import type { Proof } from "./proofs";
import { readLastProof } from "./proofs";

/** Names that identify a set in an archive: its period, its shard, and its own name. */
export interface NamedSet {
  readonly period: string;
  readonly shard: string;
  readonly set: string;
}

const keyOf = ({ period, shard, set }: NamedSet): string => `${period}/${shard}/${set}`;

/**
 * Finds the sets that can be deleted, because no restore as of a time from `from` on needs them. Oldest first. Damaged
 * sets are kept, and so are the newest set of each shard in the last period, sets for the latest time that can be
 * restored, and sets that the last proof names. Pure.
 * @param from beginning of the time that can be restored in future, milliseconds since the epoch
 * @param live names of sets that are being written, as PERIOD/SHARD/SET. These sets are kept
 */
export function obsoleteSets(
  catalog: Catalog,
  proof: Proof | undefined,
  from: number,
  live: ReadonlySet<string> = new Set(),
): NamedSet[] {
  const latest = chooseRestore(catalog, undefined);
  // Nothing can be restored, so nothing is known to be of no use.
  if (typeof latest === "string") return [];
  const kept = new Set([
    ...live,
    ...latest.shards.map(({ name, set }) => keyOf({ period: latest.period.name, shard: name, set: set.name })),
    ...(proof?.shards ?? []).map(({ shard, set }) => keyOf({ period: proof?.period ?? "", shard, set })),
  ]);
  const last = catalog.periods.at(-1)?.period;
  const found: (NamedSet & { readonly end: number })[] = [];
  for (const { period, shards } of catalog.periods)
    for (const { name: shard, sets } of shards)
      for (const each of period === last ? sets.slice(0, -1) : sets) {
        const named = { period: period.name, shard, set: each.set.name };
        const { end } = each;
        if (end < from && each.set.damage === undefined && !kept.has(keyOf(named))) found.push({ ...named, end });
      }
  return found.toSorted((a, b) => a.end - b.end).map(({ period, shard, set }) => ({ period, shard, set }));
}

/**
 * Beginning of the kept time, milliseconds since the epoch. The time counts back from the last instant of the archive,
 * so that neither a wrong clock nor a long pause of the archive makes its sets old. Pure.
 */
export function keptFrom({ periods }: Pick<Catalog, "periods">, keepMs: number, now: number): number {
  const last = Math.max(...periods.flatMap(({ spans }) => spans.map(({ to }) => to)));
  return Math.min(now, Number.isFinite(last) ? last : now) - keepMs;
}

/**
 * Deletes the sets that no instant of the kept time needs. Only the process with the lease may call it.
 * @param keepMs time that is kept, milliseconds
 * @param live sets that are being written, as PERIOD/SHARD/SET. They stay
 * @returns the deleted sets, the last proof of sets that exist, and the time at which the archive began (milliseconds
 * since the epoch)
 * @throws the signal's reason. The next call goes on with a deletion that was interrupted
 */
export async function deleteObsoleteSets(
  place: Place,
  keepMs: number,
  live: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<{
  readonly deleted: NamedSet[];
  readonly proof: Proof | undefined;
  readonly startedAt: number | undefined;
}> {
  const catalog = await readCatalog(place, place.label);
  for (const { shards } of catalog.periods) for (const { store } of shards) await finishDeletions(store, signal);
  const proof = await readLastProof(place, setsOf(catalog));
  const obsolete = obsoleteSets(catalog, proof, keptFrom(catalog, keepMs, Date.now()), live);
  const stores = new Map(
    catalog.periods.flatMap(({ period, shards }) =>
      shards.map(({ name, store }) => [`${period.name}/${name}`, store] as const),
    ),
  );
  for (const { period, shard, set } of obsolete) {
    const store = stores.get(`${period}/${shard}`);
    signal.throwIfAborted();
    if (store !== undefined) await deleteSet(store, set, signal);
  }
  return { deleted: obsolete, proof, startedAt: catalog.periods[0]?.period.startedAt };
}
