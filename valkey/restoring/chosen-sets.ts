/** Chooses the sets of an archive that a program restores without a person who watches, and refuses damaged archives. */
import { BadInput, Failure, problem } from "../../lib/errors";
import type { Catalog, Restore } from "../archive/catalog";
import { chooseRestore, formatTime, newerDamage, newerShards, readCatalog, readRestore } from "../archive/catalog";
import type { Place } from "../archive/store";
import { cannotReadDataOf } from "../settings/version";
import type { BaseManifest } from "../archive/manifests";

/** Newest format of RDB files of Redis that Valkey loads. */
const NEWEST_OF_REDIS = 11;

/** The time and the servers of a restore. */
export interface WantedSets {
  /** Time to restore, milliseconds since the epoch. Undefined for the last time of the archive. */
  readonly at: number | undefined;
  /** Limit of the last time of the archive, milliseconds since the epoch. @default no limit */
  readonly notAfter?: number | undefined;
  /** Name of the option or argument with the time, for messages. */
  readonly option: string;
  /** Version of the servers that load the sets, such as `9.1.2`. */
  readonly version: string;
}

/**
 * Chooses the sets for a time, and reads which commands of them are restored.
 * @throws BadInput if there is no archive, if the time is not in it (the message has the nearest times), and if servers
 *   of the version cannot load the sets. Failure if `at` is undefined, and newer data of
 *   the archive are damaged or are not those of all shards
 */
export async function chooseSets(place: Place, { at, notAfter, option, version }: WantedSets): Promise<Restore> {
  const catalog = await readCatalog(place, place.label);
  const choice = chooseRestore(catalog, at, notAfter);
  if (typeof choice === "string")
    throw new BadInput(place.label, [
      problem("not-archived", "", choice),
      ...catalog.damaged.map(({ text }) => problem("damaged", "", `damaged: ${text}`)),
    ]);
  const newer = at === undefined ? newerShards(catalog, choice, notAfter) : [];
  if (newer.length > 0)
    throw new Failure(
      `${newer.join("; ")}, but the last time that all shards have is ${formatTime(choice.at)}; ` +
        `to restore it, name it with ${option}`,
    );
  const chosen = await readRestore(choice);
  if (at === undefined) refuseDamage(catalog, chosen, option);
  const problems = unloadable(chosen, version);
  if (problems.length > 0) throw BadInput.of(place.label, "not-loadable", problems);
  return chosen;
}

/** Reasons why servers of a version cannot load chosen sets, as text. */
export function unloadable({ shards }: Pick<Restore, "shards">, version: string): string[] {
  return shards.flatMap(({ name, set }) => {
    const problem = loadProblem(set.base, version);
    return problem === undefined ? [] : [`${name}, set ${set.name}: ${problem}`];
  });
}

/**
 * Refuses to restore the last readable state if newer data of the archive are damaged.
 * @param option name of the option or argument with the time, for the message
 * @throws Failure in this case
 */
export function refuseDamage(catalog: Catalog, chosen: Restore, option: string): void {
  if (newerDamage(catalog, chosen).length === 0) return;
  const last = formatTime(Math.max(...chosen.shards.map(({ point }) => point.at)));
  throw new Failure(
    `the archive has damaged data after ${last}, the last time that can be restored; ` +
      `to restore an older state, name its time with ${option}`,
  );
}

/**
 * The reason why servers of a version cannot load a set's RDB file. Undefined if they can load it.
 * @param version version of the servers, such as `9.1.2`
 */
export function loadProblem(
  { format, serverVersion }: Pick<BaseManifest, "format" | "serverVersion">,
  version: string,
): string | undefined {
  const wrote = `a server of version ${serverVersion} wrote it in the RDB format ${format}`;
  const [magic, number] = format.split(" ");
  if (magic === "REDIS" && Number(number) > NEWEST_OF_REDIS)
    return `${wrote}, which Valkey does not load; Valkey loads the formats of Redis up to ${NEWEST_OF_REDIS}`;
  if (!cannotReadDataOf(serverVersion, version)) return undefined;
  return `${wrote}, and Valkey ${version} on this machine cannot load it; set VALKEY_HOME to a newer version`;
}
