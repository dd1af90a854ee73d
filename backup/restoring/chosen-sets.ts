/** Chooses the sets of an archive that a program restores without a person who watches, and refuses damaged archives. */
import { BadInput, Failure, problem } from "../../lib/errors";
import type { Catalog, Restore } from "../archive/catalog";
import { chooseRestore, formatTime, newerDamage, newerShards, readCatalog, readRestore } from "../archive/catalog";
import type { Place } from "../archive/store";
import { cannotReadDataOf } from "../../valkey/settings/version";
import type { BaseManifest } from "../archive/manifests";

const NEWEST_OF_REDIS = 11;

export interface WantedSets {
  /** Undefined for the last time of the archive. */
  readonly at: number | undefined;
  /** @default no limit */
  readonly notAfter?: number | undefined;
  readonly option: string;
  readonly version: string;
}

/**
 * @throws BadInput if the archive or the time is missing, or servers of the version cannot load the sets. Failure if
 * `at` is undefined, and newer data are damaged or are not those of all shards
 */
export async function chooseSets(place: Place, { at, notAfter, option, version }: WantedSets): Promise<Restore> {
  const catalog = await readCatalog(place);
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

export function unloadable({ shards }: Pick<Restore, "shards">, version: string): string[] {
  return shards.flatMap(({ name, set }) => {
    const problem = loadProblem(set.base, version);
    return problem === undefined ? [] : [`${name}, set ${set.name}: ${problem}`];
  });
}

/** The last readable state would lack newer data that are damaged. @throws Failure in this case */
export function refuseDamage(catalog: Catalog, chosen: Restore, option: string): void {
  if (newerDamage(catalog, chosen).length === 0) return;
  const last = formatTime(Math.max(...chosen.shards.map(({ point }) => point.at)));
  throw new Failure(
    `the archive has damaged data after ${last}, the last time that can be restored; ` +
      `to restore an older state, name its time with ${option}`,
  );
}

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
