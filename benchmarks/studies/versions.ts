/** Servers of a study that goes on must be of the versions it was begun with. Pure. */
import type { StudyLogEntry } from "./checkpoint-log";

/** By engine, as treatments name it. */
type Found = ReadonlyMap<string | undefined, { readonly version: string }>;

/** As a reference load has them on record: the engine that nobody named, which also has the load generator of all, by an empty name. */
export function recordedVersions(found: Found): Record<string, string> {
  return Object.fromEntries([...found].map(([engine, { version }]) => [engine ?? "", version]));
}

/**
 * @param found now
 * @returns a sentence for each engine that is another than when a reference load ran
 */
export function changedVersions(entries: readonly StudyLogEntry[], found: Found): string[] {
  return [...found].flatMap(([engine, { version }]) => {
    const before = entries.flatMap((entry) =>
      entry.kind === "reference-load" ? (entry.versions?.[engine ?? ""] ?? []) : [],
    );
    const others = [...new Set(before)].filter((each) => each !== version);
    return others.map(
      (other) =>
        `${engine ?? "Valkey"} was ${other} when it was begun, and is ${version} now; put that version on the PATH again, or begin anew without --resume`,
    );
  });
}
