/** For each archived shard, a separate server loads the data and writes an RDB file as of the restored time. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import type { Restore } from "../archive/catalog";
import { APPEND_DIRECTORY, materialize } from "../archive/materialize";
import type { Deployment } from "../../valkey/deployment";
import { connect } from "../../valkey/connection";
import type { ServerSettings } from "../../valkey/settings/settings";
import { infoNumber, parseInfo } from "../../valkey/topology/replies";
import type { SlotRange } from "../../valkey/topology/slots";
import type { TtlRule } from "./key-selection";
import { ttlShift } from "./key-selection";
import type { RestoreOptions } from "./loading";
import { awaitLoaded, loadingSettings, neededDatabases } from "./loading";
import { slotsOf } from "./restore-shape";

const SAVE_MS = 12 * 3_600_000;

/** They are in replication mode, and separate. */
export interface StagingServers {
  readonly version: string;
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
 * One shard after the other.
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
  for (const [index, shard] of restore.shards.entries()) {
    options.signal.throwIfAborted();
    options.report(`loading the set of ${shard.name}`, true);
    const data = await stageSet(servers, restore, index, options.signal);
    staged.push({ name: shard.name, ranges: slotsOf(shard), at: shard.point.at, ...data });
  }
  const now = epochMs();
  return staged.map((shard) => ({ ...shard, shiftMs: ttlShift(ttl, shard.at, now) }));
}

/** The server is a replica without a primary, because a replica does not remove keys whose TTL has passed. */
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
