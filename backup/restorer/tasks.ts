import { rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, Failure } from "../../lib/errors";
import { counted } from "../../lib/units";
import { type Restore, formatTime } from "../archive/catalog";
import { recordFailedDrill, recordProof } from "../archive/keeping/proofs";
import type { Place } from "../archive/store";
import { type WantedSets, chooseSets } from "../restoring/chosen-sets";
import { type RestoreOptions, awaitLoaded, loadingSettings, neededDatabases } from "../restoring/loading";
import { type StagingServers, type StagedShard, stageSet } from "../restoring/staging";
import { FollowedServers } from "../archiver/followed-servers";
import { fillDeployment } from "../restoring/filling/fill-deployment";
import { BEGAN_VARIABLE, formatResult } from "../restoring/filling/fill-result";
import { readFilled } from "../restoring/filling/filled-key";
import { KeySelection, ttlShift } from "../restoring/key-selection";
import type { FillTask } from "./pod-settings";
import { epochMs } from "../../lib/clock";
import { holdingSets } from "../archive/keeping/holds";
import { sourceAt } from "../archive/shard-layout";
import type { Deployment } from "../../valkey/deployment";
import type { Comparison } from "../rdb/comparing/compare";
import { fetchSnapshot } from "../replication-stream/snapshot";
import { compareFiles } from "../restoring/compare-servers";
import { writeShards } from "../restoring/written-shards";

/** Time after which an archive has all that its servers have sent, milliseconds. */
const SETTLED_MS = 5_000;

export async function runDrill(place: Place, staging: StagingServers, options: RestoreOptions): Promise<string> {
  let restore: Restore;
  let shards: readonly DrilledShard[];
  try {
    restore = await chooseSets(place, { at: undefined, option: "--at", version: staging.version });
    shards = await drill(restore, staging, options);
  } catch (error) {
    // A drill that was stopped says nothing about the archive.
    if (!options.signal.aborted) await recordReason(place, error, options);
    throw error;
  }
  const keys = shards.reduce((sum, shard) => sum + shard.keys, 0);
  const provenAt = Date.now();
  const records = shards.map(({ shard, set, instant }) => ({ shard, set, instant }));
  await recordProof(place, { provenAt, period: restore.period.name, keys, shards: records });
  const last = formatTime(Math.max(...shards.map(({ instant }) => instant)));
  return `PASS — ${counted(keys, "key")} of ${counted(shards.length, "shard")} as of ${last}: all equal to the archive`;
}

/** Never throws, because the reason of the drill says more than the reason why it was not recorded. */
async function recordReason(place: Place, error: unknown, { report }: RestoreOptions): Promise<void> {
  await recordFailedDrill(place, { failedAt: Date.now(), reason: messageOf(error) }).catch((reason: unknown) => {
    report(`the failure was not recorded in the archive: ${messageOf(reason)}`);
  });
}

/** Before a server exists. @returns the number of shards and their times as text. */
export async function checkFill({ at }: FillTask, place: Place, { version }: StagingServers): Promise<string> {
  const { shards } = await chooseSets(place, wantedSets(at, Date.now(), version));
  const times = shards.map(({ point }) => point.at);
  const [first, last] = [formatTime(Math.min(...times)), formatTime(Math.max(...times))];
  return `${counted(shards.length, "shard")} as of ${first === last ? last : `${first} to ${last}`}`;
}

export async function runFill(
  { at, keys, ttl, ...task }: FillTask,
  place: Place,
  staging: StagingServers,
  options: RestoreOptions,
): Promise<string> {
  const target = new FollowedServers(task);
  await target.refresh();
  // The provider has seen an empty deployment before the restore began, so this program always continues.
  const continues = Number(process.env[BEGAN_VARIABLE] ?? Date.now());
  // An earlier pod may have ended after its last key, when nobody was left to read its result.
  const earlier = await readFilled(target, continues);
  if (earlier !== undefined) return formatResult(earlier);
  const restored = await chooseSets(place, wantedSets(at, continues, staging.version));
  const order = { restored, keys: new KeySelection(keys), ttl, continues, onBegin: () => undefined };
  const { result } = await fillDeployment(target, order, staging, options);
  for (const shard of result.shards) options.report(`${shard.name} has the data of ${shard.at}`);
  return formatResult(result);
}

/** If the archive is still being written, a later pod that continues must choose the same time. */
function wantedSets(at: number | undefined, began: number, version: string): WantedSets {
  return { at, notAfter: began - SETTLED_MS, option: "restoreFrom.at", version };
}

const NAMED = 3;
/** Longer than a drill, so that keys do not expire before they are compared, not even those expired in the archive. */
const ADDED_MS = 30 * 24 * 3_600_000;

interface DrilledShard {
  readonly shard: string;
  readonly set: string;
  /** Time to which the shard was restored, milliseconds since the epoch. */
  readonly instant: number;
  readonly keys: number;
}

/**
 * Restores the last time of an archive for a test, compares every key, and removes what it made. At most one server
 * runs at a time.
 * @throws Failure if a shard cannot be loaded or differs; the signal's reason
 */
function drill(restore: Restore, staging: StagingServers, options: RestoreOptions): Promise<DrilledShard[]> {
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
