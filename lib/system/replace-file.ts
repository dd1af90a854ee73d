import { renameSync, writeFileSync } from "node:fs";

/**
 * Replaces a file as a whole. A process that opens the file at any moment reads either the former text or the new text,
 * but never a part of a text. If this process is killed while it replaces the file, the former text stays.
 */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}
