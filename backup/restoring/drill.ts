/** Restores the last time of an archive for a test, compares every key, and removes what it made. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import { Failure } from "../../lib/errors";
import { counted } from "../../lib/units";
import { copySets } from "../archive/bucket/local-sets";
import type { Restore } from "../archive/catalog";
import { beginDataDirectory } from "../archive/materialize";
import { sourceAt } from "../archive/shard-layout";
import type { Deployment } from "../../valkey/deployment";
import type { Comparison } from "../rdb/comparing/compare";
import { splitRdbs } from "../rdb/splitting/split";
import { readFileInPieces } from "../rdb/walk";
import { fetchSnapshot } from "../replication-stream/snapshot";
import { compareFiles } from "./compare-servers";
import { KeySelection, ttlShift } from "./key-selection";
import type { RestoreOptions } from "./loading";
import { awaitLoaded, loadingSettings, neededDatabases } from "./loading";
import { slotsOf } from "./restore-shape";
import type { StagedShard, StagingServers } from "./staging";
import { stageSet } from "./staging";

const NAMED = 3;
/** Longer than a drill, so that keys do not expire before they are compared, not even those expired in the archive. */
const ADDED_MS = 30 * 24 * 3_600_000;

export interface DrilledShard {
  readonly shard: string;
  readonly set: string;
  /** Time as of which the shard was restored, milliseconds since the epoch. */
  readonly instant: number;
  readonly keys: number;
}

interface DrillPlaces {
  readonly staging: StagingServers;
  /** The copies of one shard are there at a time. */
  readonly directory: string;
}

/** At most one server runs at a time. @throws Failure if a shard cannot be loaded or differs; the signal's reason */
export async function drill(restore: Restore, places: DrillPlaces, options: RestoreOptions): Promise<DrilledShard[]> {
  const shards: DrilledShard[] = [];
  for (const index of restore.shards.keys()) {
    options.signal.throwIfAborted();
    shards.push(await drillShard(restore, index, places, options));
  }
  return shards;
}

async function drillShard(
  restore: Restore,
  index: number,
  { staging, directory }: DrillPlaces,
  options: RestoreOptions,
): Promise<DrilledShard> {
  const { signal, report } = options;
  const shard = restore.shards[index];
  if (shard === undefined) throw new Error(`there is no shard ${index}`);
  const copies = join(directory, "sets");
  const [local] = (await copySets({ ...restore, shards: [shard] }, copies, options)).shards;
  if (local === undefined) throw new Error(`there is no copy of ${shard.name}`);
  report(`loading the set of ${shard.name}`);
  const shards = restore.shards.map((each) => (each === shard ? local : each));
  const data = await stageSet(staging, { ...restore, shards }, index, signal);
  await rm(copies, { recursive: true });
  const shiftMs = ttlShift("remaining", shard.point.at, epochMs()) + ADDED_MS;
  const staged: StagedShard = { name: shard.name, ranges: slotsOf(shard), at: shard.point.at, ...data, shiftMs };
  report(`restoring ${shard.name}`);
  const server = await startRestored(staging, `restored-${index}`, staged, neededDatabases(restore), signal);
  const found = join(directory, "found.rdb");
  const [node] = server.nodes;
  if (node === undefined) throw new Error(`${server.name} lacks its server`);
  await fetchSnapshot(sourceAt(server, node), found, signal);
  await staging.stop(server.name);
  report(`comparing ${shard.name}`);
  const wanted = { staged: [staged], keys: new KeySelection(), isUnchanged: true };
  const [comparison] = await compareFiles(wanted, [{ file: found, ranges: staged.ranges }]);
  await rm(found);
  for (const name of [server.name, `staging-${index}`]) await rm(staging.directoryOf(name), { recursive: true });
  if (comparison === undefined) throw new Error("there is no comparison");
  const problem = drillProblem(comparison);
  if (problem !== undefined) throw new Failure(`FAIL — ${shard.name}: ${problem}`);
  return { shard: shard.name, set: shard.set.name, instant: shard.point.at, keys: comparison.keys[1] };
}

async function startRestored(
  staging: StagingServers,
  name: string,
  { file, shiftMs, ...source }: StagedShard,
  databases: number,
  signal: AbortSignal,
): Promise<Deployment> {
  const pending = await beginDataDirectory(staging.directoryOf(name));
  try {
    await splitRdbs(
      [{ ...source, shiftMs, bytes: readFileInPieces(file) }],
      [{ ranges: source.ranges, sink: pending.base }],
    );
  } catch (error) {
    await pending.base.discard();
    throw error;
  }
  await pending.commit();
  // The server sends its data at once, because no second replica will come.
  const settings = { ...loadingSettings(databases, false), "repl-diskless-sync-delay": 0 };
  const server = await staging.start(name, settings, signal);
  await awaitLoaded(server, signal);
  return server;
}

/** Undefined if the comparison proves that the shard can be restored. */
export function drillProblem({ isEqual, differing, libraries, first, expired }: Comparison): string | undefined {
  if (!isEqual) {
    const keys = first
      .slice(0, NAMED)
      .map(({ database, key, kind }) => `${kind}: database ${database}, key ${JSON.stringify(key.toString())}`);
    const functions = libraries.map((name) => `library of functions ${JSON.stringify(name)}`);
    const count = counted(differing + libraries.length, "difference");
    return `${count} from the archive (${[...keys, ...functions].join("; ")})`;
  }
  return expired === 0 ? undefined : `${counted(expired, "key")} expired during the drill and could not be compared`;
}
