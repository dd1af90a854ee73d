/** Restores the last time of an archive for a test, compares every key, and removes what it made. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { epochMs } from "../../lib/clock";
import { Failure } from "../../lib/errors";
import { counted } from "../../lib/units";
import type { Restore } from "../archive/catalog";
import { holdingSets } from "../archive/keeping/holds";
import { sourceAt } from "../archive/shard-layout";
import type { Deployment } from "../../valkey/deployment";
import type { Comparison } from "../rdb/comparing/compare";
import { fetchSnapshot } from "../replication-stream/snapshot";
import { compareFiles } from "./compare-servers";
import { KeySelection, ttlShift } from "./key-selection";
import { type RestoreOptions, awaitLoaded, loadingSettings, neededDatabases } from "./loading";
import { type StagedShard, type StagingServers, stageSet } from "./staging";
import { writeShards } from "./written-shards";

const NAMED = 3;
/** Longer than a drill, so that keys do not expire before they are compared, not even those expired in the archive. */
const ADDED_MS = 30 * 24 * 3_600_000;

export interface DrilledShard {
  readonly shard: string;
  readonly set: string;
  /** Time to which the shard was restored, milliseconds since the epoch. */
  readonly instant: number;
  readonly keys: number;
}

/** At most one server runs at a time. @throws Failure if a shard cannot be loaded or differs; the signal's reason */
export function drill(restore: Restore, staging: StagingServers, options: RestoreOptions): Promise<DrilledShard[]> {
  return holdingSets(restore, options.report, async () => {
    const shards: DrilledShard[] = [];
    for (const index of restore.shards.keys()) shards.push(await drillShard(restore, index, staging, options));
    return shards;
  });
}

async function drillShard(
  restore: Restore,
  index: number,
  staging: StagingServers,
  options: RestoreOptions,
): Promise<DrilledShard> {
  const { signal, report } = options;
  const loaded = await stageSet(staging, restore, index, options);
  const staged: StagedShard = { ...loaded, shiftMs: ttlShift("remaining", loaded.at, epochMs()) + ADDED_MS };
  const { name: shard, ranges, at: instant } = staged;
  report(`restoring ${shard}`);
  const server = await startRestored(staging, `restored-${index}`, staged, neededDatabases(restore), signal);
  const found = join(staging.directory, "found.rdb");
  const [node] = server.nodes;
  if (node === undefined) throw new Error(`${server.name} lacks its server`);
  await fetchSnapshot(sourceAt(server, node), found, signal);
  await staging.stop(server.name);
  report(`comparing ${shard}`);
  const wanted = { staged: [staged], keys: new KeySelection(), isUnchanged: true };
  const [comparison] = await compareFiles(wanted, [{ file: found, ranges }]);
  await rm(found);
  for (const name of [server.name, `staging-${index}`]) await rm(staging.directoryOf(name), { recursive: true });
  if (comparison === undefined) throw new Error("there is no comparison");
  const problem = drillProblem(comparison);
  if (problem !== undefined) throw new Failure(`FAIL — ${shard}: ${problem}`);
  return { shard, set: restore.shards[index]?.set.name ?? "", instant, keys: comparison.keys[1] };
}

async function startRestored(
  staging: StagingServers,
  name: string,
  staged: StagedShard,
  databases: number,
  signal: AbortSignal,
): Promise<Deployment> {
  const directory = staging.directoryOf(name);
  await writeShards([staged], [{ directory, ranges: staged.ranges }], {
    ...{ isArchived: true, keys: new KeySelection(), signal },
    databasesProblem: () => undefined,
  });
  // The server sends its data at once, because no second replica will come.
  const settings = { ...loadingSettings(databases, false), "repl-diskless-sync-delay": 0 };
  const server = await staging.start(name, settings, signal);
  await awaitLoaded(server, signal);
  return server;
}

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
