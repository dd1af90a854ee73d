/**
 * Stages archived data: for each shard of the archive, a separate server loads the archived data and writes an RDB file
 * with the data of the restored time. Deployments of a different shape are made from these files, and restored servers
 * are compared with them.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { epochMs } from "../../../lib/clock";
import type { Restore } from "../../../valkey/archive/catalog";
import type { TtlRule } from "../../../valkey/archive/key-selection";
import { ttlShift } from "../../../valkey/archive/key-selection";
import { APPEND_DIRECTORY, materialize } from "../../../valkey/archive/materialize";
import { slotsOf } from "../../../valkey/archive/restore-shape";
import { connect } from "../../../valkey/connection";
import type { SlotRange } from "../../../valkey/topology/slots";
import type { Host } from "../host";
import type { RestoreOptions } from "./start-restored";
import { awaitLoaded, loadingSettings, neededDatabases } from "./start-restored";

/** Longest time for a server to write its RDB file, milliseconds. */
const SAVE_MS = 12 * 3_600_000;

/** The archived data of one shard, as an RDB file. */
export interface StagedShard {
  readonly name: string;
  readonly ranges: readonly SlotRange[];
  /** Restored time: the file has the data of this time, milliseconds since the epoch. */
  readonly at: number;
  /** Path of the RDB file. */
  readonly file: string;
  /** Milliseconds that are added to each TTL. */
  readonly shiftMs: number;
}

/**
 * Stages the archived data of each shard, one shard after the other.
 * @param ttl rule for TTLs. With the rule `remaining`, keys have their TTL of the restored time when this function ends
 * @throws Failure when the data of a shard cannot be loaded; the signal's reason
 */
export async function stageSets(
  host: Host,
  restore: Restore,
  ttl: TtlRule,
  options: RestoreOptions,
): Promise<StagedShard[]> {
  const staged: Omit<StagedShard, "shiftMs">[] = [];
  for (const [index, shard] of restore.shards.entries()) {
    options.signal.throwIfAborted();
    options.report(`loading the set of ${shard.name}`, true);
    const file = await stage(host, restore, index, options);
    staged.push({ name: shard.name, ranges: slotsOf(shard), at: shard.point.at, file });
  }
  const now = epochMs();
  return staged.map((shard) => ({ ...shard, shiftMs: ttlShift(ttl, shard.at, now) }));
}

/**
 * Stages the archived data of one shard. The server is a replica without a primary, because a replica does not remove
 * keys whose TTL has passed.
 * @returns path of the RDB file
 */
async function stage(host: Host, restore: Restore, index: number, { signal }: RestoreOptions): Promise<string> {
  const shard = restore.shards[index];
  if (shard === undefined) throw new Error(`there is no shard ${index}`);
  const name = `staging-${index}`;
  const directory = host.run.nodeDirectory(name, `${name}-0`);
  await materialize(shard.store, shard.set, shard.point, directory);
  const staging = await host.start(
    {
      name,
      mode: "replication",
      shape: { primaries: 1, replicasPerPrimary: 0 },
      // Nothing listens on this port.
      settings: { ...loadingSettings(neededDatabases(restore), false), replicaof: "127.0.0.1 1" },
      zones: ["a"],
    },
    signal,
  );
  await awaitLoaded(staging, signal);
  const [node] = staging.nodes;
  if (node === undefined) throw new Error(`${name} has no server`);
  const connection = await connect(node.name, node.endpoint, staging.access, SAVE_MS);
  const onAbort = (): void => {
    connection.disconnect();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await connection.save();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    connection.disconnect();
  }
  await host.signal(name, [node.name], "SIGKILL");
  rmSync(join(directory, APPEND_DIRECTORY), { recursive: true });
  return join(directory, "dump.rdb");
}
