import { Failure } from "../../lib/errors";
import { awaitCondition } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import { counted } from "../../lib/units";
import type { Restore } from "../archive/catalog";
import type { ArchiveSet } from "../archive/manifests";
import { modeOf } from "../archive/periods";
import type { Deployment } from "../../valkey/deployment";
import type { ServerSettings } from "../../valkey/settings/settings";
import { infoNumber, parseInfo } from "../../valkey/topology/replies";
import { withConnection } from "../../valkey/connections";

export const DEFAULT_DATABASES = 16;
const LOADING_MS = 24 * 3_600_000;

export interface RestoreOptions {
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

/** As many as the archived servers had, or more if data are in a database with a higher number. */
export function neededDatabases({ period, shards }: Pick<Restore, "period" | "shards">): number {
  const usual = modeOf(period) === "cluster" ? 1 : DEFAULT_DATABASES;
  return Math.max(period.databases ?? usual, ...shards.map(({ set }) => highestDatabase(set) + 1));
}

function highestDatabase({ base, increments }: ArchiveSet): number {
  return increments.reduce((highest, { database }) => Math.max(highest, database), base.database);
}

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

/** @throws Failure if a server refused commands while it loaded its data */
export async function awaitLoaded(deployment: Deployment, signal: AbortSignal): Promise<void> {
  const loaded = async (): Promise<boolean> => {
    for (const node of deployment.nodes) {
      const info = parseInfo(await withConnection(deployment.connect(node), (each) => each.info("persistence")));
      if (infoNumber(info, "loading") !== 0 || infoNumber(info, "async_loading") === 1) return false;
    }
    return true;
  };
  await awaitCondition("the servers have loaded their data", loaded, {
    timeoutMs: LOADING_MS,
    intervalMs: 200,
    signal,
  });
  for (const node of deployment.nodes) {
    const stats = await withConnection(deployment.connect(node), (each) => each.info("stats"));
    const problem = loadingProblem(node.name, stats);
    if (problem !== undefined) throw new Failure(problem);
  }
}

/** A server that refuses a command of an append-only file goes on, and counts it. @param stats reply to INFO stats */
export function loadingProblem(server: string, stats: string): string | undefined {
  const refused = infoNumber(parseInfo(stats), "unexpected_error_replies");
  if (refused === 0) return undefined;
  const count = refused === undefined ? "an unknown number of commands" : counted(refused, "command");
  return `FAIL — ${server} refused ${count} of its set during loading, so its data are not those of the archive`;
}
