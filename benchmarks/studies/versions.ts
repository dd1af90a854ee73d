/** A resumed study needs the server versions that it began with. Pure. */
import type { StudyLogEntry } from "./checkpoint-log";

/** Engine, as treatments name it, to its version. */
type Found = ReadonlyMap<string | undefined, { readonly version: string }>;

/** Versions as a reference load records them; the default engine, which has the load generator, has an empty name. */
export function recordedVersions(found: Found): Record<string, string> {
  return Object.fromEntries([...found].map(([engine, { version }]) => [engine ?? "", version]));
}

/**
 * @param found versions now
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
        `the study began with ${engine ?? "Valkey"} ${other}, and finds ${version} now; ` +
        `put ${other} on the PATH, or start a new study without --resume`,
    );
  });
}
