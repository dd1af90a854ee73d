import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SCRIPTS_DIRECTORY } from "./layout";

const EVERY = ["node.sh", "keeper.sh", "keep.sh", "ready.sh"] as const;

const SCRIPTS = {
  cluster: [
    ...EVERY,
    ...["copies.sh", "start-cluster.sh", "join.sh", "ready-cluster.sh", "keep-cluster.sh", "hand-over.sh"],
  ],
  // Deployments with and without Sentinels use the same scripts, because pods of both kinds run while Sentinels are
  // added or removed.
  replication: [
    ...EVERY,
    ...["copies.sh", "start-replication.sh", "ready-replication.sh", "keep-replication.sh"],
    ...["hand-over-replication.sh", "sentinels.sh", "sentinel.sh", "ready-sentinel.sh", "keep-sentinel.sh"],
  ],
  compared: [...EVERY, "start-replica.sh", "ready-replication.sh", "keep-replication.sh", "sentinels.sh"],
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
