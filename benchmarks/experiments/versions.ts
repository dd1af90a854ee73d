/** Servers of a study that goes on must be of the versions it was begun with. Pure. */
import type { Cell } from "./factors";
import type { JournalEntry } from "./journal";

/**
 * @param found version by engine, as cells name engines
 * @returns a sentence for each engine that is another by now
 */
export function changedVersions(cells: readonly Cell[], entries: readonly JournalEntry[], found: ReadonlyMap<string | undefined, string>): string[] {
  return [...found].flatMap(([engine, version]) => {
    const own = new Set(cells.filter((cell) => cell.engine === engine).map(({ id }) => id));
    // `valkey 9.1.2`, as verification says it.
    const measured = entries.flatMap((entry) => (entry.kind === "cell" && own.has(entry.cell) ? [entry.topology.version] : []));
    const others = [...new Set(measured)].filter((each) => each.split(" ").at(-1) !== version);
    return others.map((other) => `${engine ?? "Valkey"} was ${other} when its cells were measured, and is ${version} now; put that version on the PATH again, or begin anew without --resume`);
  });
}
