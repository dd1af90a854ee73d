import { rm } from "node:fs/promises";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import type { Restore } from "../archive/catalog";
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
import { createHash } from "node:crypto";
import { Failure } from "../../lib/errors";
import { Semaphore } from "../../lib/semaphore";
import { BASE_FILE, incrementFile } from "../archive/manifests";
import { type ArchiveStore, DirectoryStore } from "../archive/store";

const AT_ONCE = 32;

const SAVE_MS = 12 * 3_600_000;

export interface StagingServers {
  readonly version: string;
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

type RestoredShard = Restore["shards"][number];

/** @throws Failure for a damaged file; the errors of the bucket; the signal's reason */
async function copySet(shard: RestoredShard, directory: string, signal: AbortSignal): Promise<RestoredShard> {
  const copy = new DirectoryStore(directory);
  const limit = new Semaphore(AT_ONCE);
  const { store, set, point } = shard;
  const increments = set.increments.filter(({ from, size }) => size > 0 && from < point.offset);
  const files = [
    { from: BASE_FILE, to: BASE_FILE, facts: set.base },
    ...increments.map((each) => ({
      from: each.file ?? incrementFile(each.from),
      to: incrementFile(each.from),
      facts: each,
    })),
  ];
  await Promise.all(
    files.map(({ from, to, facts }) =>
      limit.run(async () => {
        signal.throwIfAborted();
        await copyFile(store, `${set.name}/${from}`, copy, `${set.name}/${to}`, facts);
      }),
    ),
  );
  return { ...shard, store: copy };
}

async function copyFile(
  source: ArchiveStore,
  name: string,
  target: ArchiveStore,
  targetName: string,
  expected: { readonly size: number; readonly sha256: string },
): Promise<void> {
  const hash = createHash("sha256");
  let size = 0;
  const file = await target.create(targetName);
  try {
    for await (const piece of source.read(name)) {
      hash.update(piece);
      size += piece.length;
      await file.write(piece);
    }
    if (size !== expected.size || hash.digest("hex") !== expected.sha256)
      throw new Failure(`${name} is damaged: its checksum is not that of its manifest`);
    await file.commit();
  } catch (error) {
    await file.discard();
    throw error;
  }
}
