/** Restores a deployment of an archive as processes on this machine. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../../../lib/errors";
import { awaitCondition } from "../../../lib/polling";
import type { ReportProgress } from "../../../lib/progress";
import { counted } from "../../../lib/units";
import type { Restore } from "../../../valkey/archive/catalog";
import type { ArchiveSet } from "../../../valkey/archive/manifests";
import { materialize } from "../../../valkey/archive/materialize";
import { modeOf } from "../../../valkey/archive/periods";
import type { RestoreShape } from "../../../valkey/archive/restore-shape";
import type { Deployment } from "../../../valkey/deployment";
import type { ServerSettings } from "../../../valkey/settings/settings";
import { infoNumber, parseInfo } from "../../../valkey/topology/replies";
import type { HostDeploymentPlan } from "../deployment-plan";
import type { Host } from "../host";

/** Name of the deployment that a restore creates. */
export const RESTORED = "restored";
/**
 * Number of databases of a server with default settings, if the server is not in cluster mode. In cluster mode, a
 * server has one database.
 */
export const DEFAULT_DATABASES = 16;
const ZONES = ["a", "b", "c"] as const;
/** Time limit for a server to load its data, milliseconds. */
const LOADING_MS = 24 * 3_600_000;

export interface RestoreOptions {
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

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
 * Number of databases that the restored servers need: as many as the archived servers had, or more if the archived data
 * of a shard are in a database with a higher number. Pure.
 */
export function neededDatabases({ period, shards }: Pick<Restore, "period" | "shards">): number {
  const usual = modeOf(period) === "cluster" ? 1 : DEFAULT_DATABASES;
  return Math.max(period.databases ?? usual, ...shards.map(({ set }) => highestDatabase(set) + 1));
}

function highestDatabase({ base, increments }: ArchiveSet): number {
  return increments.reduce((highest, { database }) => Math.max(highest, database), base.database);
}

/** Settings with which a server loads the data directory that `materialize` makes. */
export function loadingSettings(databases: number, isCluster: boolean): ServerSettings {
  return {
    save: "",
    appendonly: true,
    // A server must not start with a part of the data.
    "aof-load-truncated": false,
    // Servers before 9.0 do not know the setting for cluster mode.
    ...(isCluster && databases === 1 ? {} : { [isCluster ? "cluster-databases" : "databases"]: databases }),
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
 * Waits until all servers have loaded their data.
 * @throws Failure if a server refused commands while it loaded its data
 */
export async function awaitLoaded(deployment: Deployment, signal: AbortSignal): Promise<void> {
  const loaded = async (): Promise<boolean> => {
    for (const node of deployment.nodes) {
      const connection = await deployment.connect(node);
      try {
        const info = parseInfo(await connection.info("persistence"));
        if (infoNumber(info, "loading") !== 0 || infoNumber(info, "async_loading") === 1) return false;
      } finally {
        connection.disconnect();
      }
    }
    return true;
  };
  await awaitCondition("the servers have loaded their data", loaded, {
    timeoutMs: LOADING_MS,
    intervalMs: 200,
    signal,
  });
  for (const node of deployment.nodes) {
    const connection = await deployment.connect(node);
    try {
      const problem = loadingProblem(node.name, await connection.info("stats"));
      if (problem !== undefined) throw new Failure(problem);
    } finally {
      connection.disconnect();
    }
  }
}

/**
 * Reason why a server has not loaded all of its data; undefined if it has loaded all. A server that refuses a command
 * of an append-only file goes on, and counts the refused commands. Pure.
 * @param stats reply to INFO stats
 */
export function loadingProblem(server: string, stats: string): string | undefined {
  const refused = infoNumber(parseInfo(stats), "unexpected_error_replies");
  if (refused === 0) return undefined;
  const count = refused === undefined ? "an unknown number of commands" : counted(refused, "command");
  return `FAIL — ${server} refused ${count} of its set during loading, so its data are not those of the archive`;
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
