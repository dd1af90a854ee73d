/**
 * Stages archived data: for each shard of the archive, a separate server loads the archived data and writes an RDB file
 * with the data of the restored time. Deployments of a different shape are made from these files, and restored servers
 * are compared with them.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import type { Restore } from "../archive/catalog";
import { APPEND_DIRECTORY, materialize } from "../archive/materialize";
import type { Deployment } from "../deployment";
import { connect } from "../connection";
import type { ServerSettings } from "../settings/settings";
import { infoNumber, parseInfo } from "../topology/replies";
import type { SlotRange } from "../topology/slots";
import type { TtlRule } from "./key-selection";
import { ttlShift } from "./key-selection";
import type { RestoreOptions } from "./loading";
import { awaitLoaded, loadingSettings, neededDatabases } from "./loading";
import { slotsOf } from "./restore-shape";

/** Longest time for a server to write its RDB file, milliseconds. */
const SAVE_MS = 12 * 3_600_000;

/** Starts temporary servers (staging servers) that load archived data. They are in replication mode, and separate. */
export interface StagingServers {
  /** Version of Valkey, such as `9.1.2`. */
  readonly version: string;
  /** Path of the data directory of a server. Before the first start, this directory is empty or missing. */
  readonly directoryOf: (name: string) => string;
  /** Starts a server. The returned deployment has only this server. @throws Failure; the signal's reason */
  readonly start: (name: string, settings: ServerSettings, signal: AbortSignal) => Promise<Deployment>;
  /** Stops a server without saving its data. */
  readonly stop: (name: string) => Promise<void>;
}

/** The archived data of one shard, as an RDB file. */
export interface StagedShard {
  readonly name: string;
  readonly ranges: readonly SlotRange[];
  /** Restored time: the file has the data of this time, milliseconds since the epoch. */
  readonly at: number;
  /** Path of the RDB file. */
  readonly file: string;
  /** Memory of all keys and values in a server, bytes. */
  readonly datasetBytes: number;
  /** Milliseconds that are added to each TTL. */
  readonly shiftMs: number;
}

/**
 * Stages the archived data of each shard, one shard after the other.
 * @param ttl rule for TTLs. With the rule `remaining`, keys have their TTL of the restored time when this function ends
 * @throws Failure when the data of a shard cannot be loaded; the signal's reason
 */
export async function stageSets(
  servers: StagingServers,
  restore: Restore,
  ttl: TtlRule,
  options: RestoreOptions,
): Promise<StagedShard[]> {
  const staged: Omit<StagedShard, "shiftMs">[] = [];
  for (const [index, shard] of restore.shards.entries()) {
    options.signal.throwIfAborted();
    options.report(`loading the set of ${shard.name}`, true);
    const data = await stageSet(servers, restore, index, options.signal);
    staged.push({ name: shard.name, ranges: slotsOf(shard), at: shard.point.at, ...data });
  }
  const now = epochMs();
  return staged.map((shard) => ({ ...shard, shiftMs: ttlShift(ttl, shard.at, now) }));
}

/**
 * Stages the archived data of one shard. The server is a replica without a primary, because a replica does not remove
 * keys whose TTL has passed.
 * @returns path of the RDB file, and the memory of the data in the server
 */
export async function stageSet(
  servers: StagingServers,
  restore: Restore,
  index: number,
  signal: AbortSignal,
): Promise<Pick<StagedShard, "file" | "datasetBytes">> {
  const shard = restore.shards[index];
  if (shard === undefined) throw new Error(`there is no shard ${index}`);
  const name = `staging-${index}`;
  const directory = servers.directoryOf(name);
  await materialize(shard.store, shard.set, shard.point, directory);
  // Nothing listens on this port.
  const settings = { ...loadingSettings(neededDatabases(restore), false), replicaof: "127.0.0.1 1" };
  const staging = await servers.start(name, settings, signal);
  await awaitLoaded(staging, signal);
  const datasetBytes = await save(staging, signal);
  await servers.stop(name);
  rmSync(join(directory, APPEND_DIRECTORY), { recursive: true });
  return { file: join(directory, "dump.rdb"), datasetBytes };
}

/** Makes the only server of a deployment write its RDB file. @returns memory of the server's data, bytes */
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
