import { messageOf } from "../../lib/errors";
import { counted } from "../../lib/units";
import { type Restore, formatTime } from "../archive/catalog";
import { recordFailedDrill, recordProof } from "../archive/keeping/proofs";
import type { Place } from "../archive/store";
import { type WantedSets, chooseSets } from "../restoring/chosen-sets";
import { type DrilledShard, drill } from "../restoring/drill";
import type { RestoreOptions } from "../restoring/loading";
import type { StagingServers } from "../restoring/staging";
import { FollowedServers } from "../archiver/followed-servers";
import { fillDeployment } from "../restoring/filling/fill-deployment";
import { BEGAN_VARIABLE, formatResult } from "../restoring/filling/fill-result";
import { readFilled } from "../restoring/filling/filled-key";
import { KeySelection } from "../restoring/key-selection";
import type { FillTask } from "./pod-settings";

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
