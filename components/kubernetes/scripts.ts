/** The scripts that run in the pods, as files of a ConfigMap. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SCRIPTS_DIRECTORY } from "./layout";

export const SCRIPTS = {
  cluster: ["node.sh", "ready-cluster.sh", "hand-over.sh"],
  replication: ["node.sh", "ready-replication.sh"],
  watched: ["node.sh", "ready-replication.sh", "sentinel.sh"],
} as const;

/** File name to text. */
export function scriptFiles(mode: keyof typeof SCRIPTS): Record<string, string> {
  return Object.fromEntries(
    SCRIPTS[mode].map((name) => [name, readFileSync(join(__dirname, "scripts", name), "utf8")]),
  );
}

/** Runs one of them; they are read by sh, so no file must be executable. */
export function scriptCommand(
  name: (typeof SCRIPTS)[keyof typeof SCRIPTS][number],
  ...args: readonly string[]
): string[] {
  return ["sh", `${SCRIPTS_DIRECTORY}/${name}`, ...args];
}
