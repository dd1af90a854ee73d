/** Restores a deployment of an archive as processes on this machine. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Restore } from "../../../valkey/archive/catalog";
import { materialize } from "../../../valkey/archive/materialize";
import type { Deployment } from "../../../valkey/deployment";
import type { RestoreOptions } from "../../../valkey/restoring/loading";
import { awaitLoaded, loadingSettings } from "../../../valkey/restoring/loading";
import type { RestoreShape } from "../../../valkey/restoring/restore-shape";
import type { HostDeploymentPlan } from "../deployment-plan";
import type { Host } from "../host";

/** Name of the deployment that a restore creates. */
export const RESTORED = "restored";
const ZONES = ["a", "b", "c"] as const;

/** The plan of the restored deployment. Pure. @param databases number of databases of each server */
export function restoredPlan(
  { mode, shards }: Pick<RestoreShape, "mode" | "shards">,
  replicas: number,
  databases: number,
): HostDeploymentPlan {
  return {
    name: RESTORED,
    mode,
    shape: { primaries: shards.length, replicasPerPrimary: replicas },
    settings: { ...loadingSettings(databases, mode === "cluster"), "repl-diskless-sync-delay": 0 },
    zones: ZONES,
  };
}

/**
 * Restores a deployment with the shape of the archive: writes the data of each shard into the directory of its server,
 * starts the servers, and waits until they have loaded their data. The servers do not know each other yet.
 * @throws Failure when archived data are damaged, or when a server cannot load its data; the signal's reason
 */
export async function startRestored(
  host: Host,
  restore: Restore,
  plan: HostDeploymentPlan,
  { signal, report }: RestoreOptions,
): Promise<Deployment> {
  for (const [index, { name, slots, store, set, point }] of restore.shards.entries()) {
    signal.throwIfAborted();
    report(`writing the data of ${name}`, true);
    const directory = host.run.nodeDirectory(plan.name, `${plan.name}-${index}`);
    await materialize(store, set, point, directory);
    if (slots !== undefined) giveSlots(directory, slots);
  }
  const deployment = await host.start(plan, signal);
  await awaitLoaded(deployment, signal);
  return deployment;
}

/**
 * Writes the file `nodes.conf`, which tells a new node which slots it serves. Without this file, the node would serve
 * only the slots of its keys.
 */
export function giveSlots(directory: string, slots: string): void {
  const id = randomBytes(20).toString("hex");
  writeFileSync(
    join(directory, "nodes.conf"),
    `${id} :0@0 myself,master - 0 0 0 connected ${slots}\nvars currentEpoch 0 lastVoteEpoch 0\n`,
  );
}
