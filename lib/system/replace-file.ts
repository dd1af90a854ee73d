import { renameSync, writeFileSync } from "node:fs";

/**
 * Replaces a file as a whole: another process that opens it at any moment reads the former text or the new one, and never
 * a part. A process that is killed meanwhile leaves the former text.
 */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}
