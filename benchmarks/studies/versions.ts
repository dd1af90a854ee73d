/** Checks that a resumed study uses the same server versions as before. Pure. */
import type { StudyLogEntry } from "./checkpoint-log";

/**
 * Version of each engine's servers, by the name that treatments use for the engine; undefined is the default engine.
 */
type Found = ReadonlyMap<string | undefined, { readonly version: string }>;

/**
 * Versions of the servers by engine, in the form of the checkpoint log. The default engine, which also provides the
 * load generator, has an empty name.
 */
export function recordedVersions(found: Found): Record<string, string> {
  return Object.fromEntries([...found].map(([engine, { version }]) => [engine ?? "", version]));
}

/**
 * Engines whose version has changed.
 * @param found the present versions
 * @returns a sentence for each engine whose present version differs from a recorded version
 */
export function changedVersions(entries: readonly StudyLogEntry[], found: Found): string[] {
  return [...found].flatMap(([engine, { version }]) => {
    const before = entries.flatMap((entry) =>
      entry.kind === "reference-load" ? (entry.versions?.[engine ?? ""] ?? []) : [],
    );
    const others = [...new Set(before)].filter((each) => each !== version);
    return others.map(
      (other) =>
        `the study began with ${engine ?? "Valkey"} ${other}, and now finds ${version}; ` +
        `put ${other} on the PATH, or start a new study without --resume`,
    );
  });
}
