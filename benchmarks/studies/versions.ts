/** Checks that a resumed study has the server versions with which it began. Pure. */
import type { StudyLogEntry } from "./checkpoint-log";

/** Version by engine, with the engine names of treatments. */
type Found = ReadonlyMap<string | undefined, { readonly version: string }>;

/**
 * Versions in the form in which a reference load records them. The default engine, which has the load generator, has an
 * empty name.
 */
export function recordedVersions(found: Found): Record<string, string> {
  return Object.fromEntries([...found].map(([engine, { version }]) => [engine ?? "", version]));
}

/**
 * Engines whose version has changed.
 * @param found the present versions
 * @returns a sentence for each engine whose version differs from a recorded one
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
