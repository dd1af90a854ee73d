import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Restore } from "../../archive/catalog";
import { materialize } from "../../archive/materialize";
import type { Deployment } from "../../../valkey/deployment";
import type { RestoreOptions } from "../loading";
import { awaitLoaded, loadingSettings } from "../loading";
import type { RestoreShape } from "../restore-shape";
import type { HostDeploymentPlan } from "../../../platforms/host/deployment-plan";
import type { Host } from "../../../platforms/host/host";

export const RESTORED = "restored";
const ZONES = ["a", "b", "c"] as const;

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
 * With the shape of the archive; waits until servers have loaded their data. They do not know each other yet.
 * @throws Failure for damaged data, or if a server cannot load its data; the signal's reason
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

/** Without `nodes.conf`, a new node would serve only the slots of its keys. */
export function giveSlots(directory: string, slots: string): void {
  const id = randomBytes(20).toString("hex");
  writeFileSync(
    join(directory, "nodes.conf"),
    `${id} :0@0 myself,master - 0 0 0 connected ${slots}\nvars currentEpoch 0 lastVoteEpoch 0\n`,
  );
}
