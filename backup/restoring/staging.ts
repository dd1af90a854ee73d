/** For each archived shard, a separate server loads the data and writes an RDB file as of the restored time. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import type { Restore } from "../archive/catalog";
import { copySet } from "../archive/bucket/local-sets";
import { holdingSets } from "../archive/keeping/holds";
import { APPEND_DIRECTORY, materialize } from "../archive/materialize";
import type { Deployment } from "../../valkey/deployment";
import { connect } from "../../valkey/connection";
import type { ServerSettings } from "../../valkey/settings/settings";
import { infoNumber, parseInfo } from "../../valkey/topology/replies";
import type { SlotRange } from "../../valkey/topology/slots";
import type { TtlRule } from "../../model/backup";
import { ttlShift } from "./key-selection";
import { type RestoreOptions, awaitLoaded, loadingSettings, neededDatabases } from "./loading";
import { slotsOf } from "./restore-shape";

const SAVE_MS = 12 * 3_600_000;

/** They are in replication mode, and separate. */
export interface StagingServers {
  readonly version: string;
  /** Copies of archived files, and data to compare, are there for a time. */
  readonly directory: string;
  /** Before the first start, this directory is empty or missing. */
  readonly directoryOf: (name: string) => string;
  /** The returned deployment has only this server. */
  readonly start: (name: string, settings: ServerSettings, signal: AbortSignal) => Promise<Deployment>;
  readonly stop: (name: string) => Promise<void>;
}

export interface StagedShard {
  readonly name: string;
  readonly ranges: readonly SlotRange[];
  /** Restored time: the file has the data of this time, milliseconds since the epoch. */
  readonly at: number;
  readonly file: string;
  readonly datasetBytes: number;
  /** Milliseconds that are added to each TTL. */
  readonly shiftMs: number;
}

/**
 * One shard after the other. The archive is not needed afterwards.
 * @param ttl with `remaining`, keys have their TTL of the restored time at the end
 * @throws Failure when the data of a shard cannot be loaded; the signal's reason
 */
export async function stageSets(
  servers: StagingServers,
  restore: Restore,
  ttl: TtlRule,
  options: RestoreOptions,
): Promise<StagedShard[]> {
  const staged: Omit<StagedShard, "shiftMs">[] = [];
  await holdingSets(restore, options.report, async () => {
    for (const index of restore.shards.keys()) staged.push(await stageSet(servers, restore, index, options));
  });
  const now = epochMs();
  return staged.map((shard) => ({ ...shard, shiftMs: ttlShift(ttl, shard.at, now) }));
}

/** The server is a replica without a primary, because a replica does not remove keys whose TTL has passed. */
export async function stageSet(
  servers: StagingServers,
  restore: Restore,
  index: number,
  { signal, report }: RestoreOptions,
): Promise<Omit<StagedShard, "shiftMs">> {
  signal.throwIfAborted();
  const shard = restore.shards[index];
  if (shard === undefined) throw new Error(`there is no shard ${index}`);
  const staged = `staging-${index}`;
  const directory = servers.directoryOf(staged);
  const { name, set, point } = shard;
  report(`loading the set of ${name}`, true);
  if (restore.place.isRemote) {
    const copies = join(servers.directory, "copied-set");
    const { store } = await copySet(shard, copies, signal);
    await materialize(store, set, point, directory);
    await rm(copies, { recursive: true });
  } else await materialize(shard.store, set, point, directory);
  // Nothing listens on this port.
  const settings = { ...loadingSettings(neededDatabases(restore), false), replicaof: "127.0.0.1 1" };
  const staging = await servers.start(staged, settings, signal);
  await awaitLoaded(staging, signal);
  const datasetBytes = await save(staging, signal);
  await servers.stop(staged);
  await rm(join(directory, APPEND_DIRECTORY), { recursive: true });
  return { name, ranges: slotsOf(shard), at: point.at, file: join(directory, "dump.rdb"), datasetBytes };
}

/** @returns memory of the server's data, bytes */
async function save({ name, nodes: [node], access }: Deployment, signal: AbortSignal): Promise<number> {
  if (node === undefined) throw new Error(`${name} lacks its server`);
  const connection = await connect(node.name, node.endpoint, access, SAVE_MS);
  const onAbort = (): void => {
    connection.disconnect();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await connection.save();
    return infoNumber(parseInfo(await connection.info("memory")), "used_memory_dataset") ?? 0;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    connection.disconnect();
  }
}
