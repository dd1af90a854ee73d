import type { ResultRow } from "../results/rows";
import type { Warning } from "../results/schema";

export interface WarningNote {
  readonly code: Warning["code"];
  readonly text: string;
  readonly where: readonly string[];
}

export const NO_WARNINGS =
  "None: client and servers report the same rate, reads found their keys, and no other process used the machine.";

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

export function noteLetter(notes: readonly WarningNote[], code: Warning["code"]): string {
  return String.fromCharCode("a".charCodeAt(0) + notes.findIndex((note) => note.code === code));
}
