import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SCRIPTS_DIRECTORY } from "./layout";

const SCRIPTS = {
  cluster: ["node.sh", "copies.sh", "start-cluster.sh", "join.sh", "ready.sh", "ready-cluster.sh", "hand-over.sh"],
  // Deployments with and without Sentinels use the same scripts, because pods of both kinds run while Sentinels are
  // added or removed.
  replication: [
    ...["node.sh", "copies.sh", "start-replication.sh", "ready-replication.sh"],
    ...["sentinels.sh", "sentinel.sh", "ready-sentinel.sh", "hand-over-replication.sh"],
  ],
  compared: ["node.sh", "ready-replication.sh", "start-replica.sh"],
} as const;

export type ScriptSet = keyof typeof SCRIPTS;

export function scriptFiles(set: ScriptSet): Record<string, string> {
  return Object.fromEntries(SCRIPTS[set].map((name) => [name, readFileSync(join(__dirname, "scripts", name), "utf8")]));
}

/** Command that runs a script. sh reads the script, so the file needs no execute permission. */
export function scriptCommand(
  name: (typeof SCRIPTS)[keyof typeof SCRIPTS][number],
  ...args: readonly string[]
): string[] {
  return ["sh", `${SCRIPTS_DIRECTORY}/${name}`, ...args];
}
