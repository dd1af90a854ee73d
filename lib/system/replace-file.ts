import { renameSync, writeFileSync } from "node:fs";

/** Readers see the former or the new text, never a part; also if this process is killed meanwhile. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.new`;
  writeFileSync(draft, text);
  renameSync(draft, path);
}
