import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Restore } from "../archive/catalog";
import type { Deployment } from "../../valkey/deployment";
import { formatRanges } from "../../valkey/topology/slots";
import type { KeySelection } from "./key-selection";
import { type RestoreOptions, DEFAULT_DATABASES, awaitLoaded, loadingSettings, neededDatabases } from "./loading";
import { type RestoreShape, databasesProblem } from "./restore-shape";
import type { StagedShard, StagingServers } from "./staging";
import { writeShards } from "./written-shards";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import type { Host } from "../../platforms/host/host";

const RESTORED = "restored";
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

interface RestoredServers {
  readonly restored: Pick<Restore, "period" | "shards">;
  readonly shape: RestoreShape;
  readonly replicas: number;
  readonly keys: KeySelection;
}

/** To the primary that will serve a key's slot. @throws the errors of `writeShards`; then no server has started */
export async function writeRestored(
  host: Host,
  staged: readonly StagedShard[],
  { restored, shape, replicas, keys }: RestoredServers,
  { signal }: RestoreOptions,
): Promise<HostDeploymentPlan> {
  const shards = shape.shards.map((ranges, index) => ({
    ranges,
    directory: host.run.nodeDirectory(RESTORED, `${RESTORED}-${index}`),
  }));
  const databases = await writeShards(staged, shards, {
    ...{ isArchived: shape.isArchived, keys, signal },
    databasesProblem: (found) => databasesProblem(shape.mode, found, host.programs.version),
  });
  if (shape.mode === "cluster") for (const { directory, ranges } of shards) giveSlots(directory, formatRanges(ranges));
  const usual = shape.mode === "cluster" ? 1 : DEFAULT_DATABASES;
  const least = shape.isArchived ? neededDatabases(restored) : usual;
  return restoredPlan(shape, replicas, Math.max(least, ...databases.map((database) => database + 1)));
}

/** Waits until they have loaded their data. They do not know each other yet. */
export async function startRestored(host: Host, plan: HostDeploymentPlan, signal: AbortSignal): Promise<Deployment> {
  const deployment = await host.start(plan, signal);
  await awaitLoaded(deployment, signal);
  return deployment;
}

/** Without `nodes.conf`, a new node would serve only the slots of its keys. */
function giveSlots(directory: string, slots: string): void {
  const id = randomBytes(20).toString("hex");
  writeFileSync(
    join(directory, "nodes.conf"),
    `${id} :0@0 myself,master - 0 0 0 connected ${slots}\nvars currentEpoch 0 lastVoteEpoch 0\n`,
  );
}

export function stagingProcesses(host: Host): StagingServers {
  const nodeOf = (name: string): string => `${name}-0`;
  return {
    version: host.programs.version,
    directory: host.run.path,
    directoryOf: (name) => host.run.nodeDirectory(name, nodeOf(name)),
    start: (name, settings, signal) =>
      host.start(
        { name, mode: "replication", shape: { primaries: 1, replicasPerPrimary: 0 }, settings, zones: ["a"] },
        signal,
      ),
    stop: (name) => host.signal(name, [nodeOf(name)], "SIGKILL"),
  };
}
