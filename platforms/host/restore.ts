/** Restores a deployment of an archive as processes on this machine. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { awaitCondition } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import type { Restore } from "../../valkey/archive/catalog";
import { materialize } from "../../valkey/archive/materialize";
import { modeOf } from "../../valkey/archive/periods";
import type { Deployment } from "../../valkey/deployment";
import type { ServerSettings } from "../../valkey/settings/settings";
import { infoNumber, parseInfo } from "../../valkey/topology/replies";
import type { HostDeploymentPlan } from "./deployment-plan";
import type { Host } from "./host";

/** Name of the deployment that a restore makes. */
export const RESTORED = "restored";
const ZONES = ["a", "b", "c"] as const;
/** Time limit for a server to load its data, milliseconds. */
const LOADING_MS = 24 * 3_600_000;

export interface RestoreOptions {
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

/** The plan of the restored deployment: as many primaries as the archive has shards. Pure. */
export function restoredPlan({ period }: Pick<Restore, "period">, replicasPerPrimary: number): HostDeploymentPlan {
  const mode = modeOf(period);
  return {
    name: RESTORED,
    mode,
    shape: { primaries: period.shards.length, replicasPerPrimary },
    settings: {
      ...loadingSettings(period.databases, mode === "cluster"),
      "repl-diskless-sync-delay": 0,
    },
    zones: ZONES,
  };
}

/** Settings of a server that loads the data directory that `materialize` makes. */
export function loadingSettings(databases: number | undefined, isCluster: boolean): ServerSettings {
  return {
    save: "",
    appendonly: true,
    // A server must not start with a part of the data.
    "aof-load-truncated": false,
    ...(databases === undefined || (isCluster && databases === 1)
      ? {}
      : { [isCluster ? "cluster-databases" : "databases"]: databases }),
  };
}

/**
 * Writes the data of each shard into the directory of its server, starts the servers, and waits until they have loaded
 * their data. The servers do not know each other yet.
 * @throws Failure for a damaged set and for a server that cannot load its data; the signal's reason
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
    if (slots !== undefined) writeFileSync(join(directory, "nodes.conf"), nodesFile(slots));
  }
  const deployment = await host.start(plan, signal);
  await awaitLoaded(deployment, signal);
  return deployment;
}

/** Waits until all servers have loaded their data. */
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
}

/**
 * The file `nodes.conf` of a new node that serves slots. Without it, a node would serve only the slots of its keys.
 */
function nodesFile(slots: string): string {
  const id = randomBytes(20).toString("hex");
  return `${id} :0@0 myself,master - 0 0 0 connected ${slots}\nvars currentEpoch 0 lastVoteEpoch 0\n`;
}
