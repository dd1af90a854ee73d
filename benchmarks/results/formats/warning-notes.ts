/** Warnings as footnotes: a letter per kind, said once, with everything it concerns. Pure. */
import type { ResultRow } from "../rows";
import type { Warning } from "../schema";

export interface WarningNote {
  readonly code: Warning["code"];
  /** With the figures of the first case. */
  readonly text: string;
  /** `GET of cluster`, all of them. */
  readonly where: readonly string[];
}

export const NO_WARNINGS = "None: both clocks agree, what was read was there, and nobody else used the machine.";

/** In order of first appearance. */
export function warningNotes(rows: readonly ResultRow[]): WarningNote[] {
  const notes = new Map<Warning["code"], { text: string; where: string[] }>();
  for (const { title, deployment, warnings } of rows) {
    for (const { code, text } of warnings) {
      const note = notes.get(code) ?? { text, where: [] };
      note.where.push(`${title} of ${deployment}`);
      notes.set(code, note);
    }
  }
  return [...notes].map(([code, note]) => ({ code, ...note }));
}

/** `a` for the first note; there are fewer kinds than letters. */
export function noteLetter(notes: readonly WarningNote[], code: Warning["code"]): string {
  return String.fromCharCode("a".charCodeAt(0) + notes.findIndex((note) => note.code === code));
}
