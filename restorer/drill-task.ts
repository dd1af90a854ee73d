/** The task of the pod `NAME-drill`: a restore for a test, whose result is recorded in the archive. */
import { join } from "node:path";
import { messageOf } from "../lib/errors";
import { counted } from "../lib/units";
import type { Restore } from "../valkey/archive/catalog";
import { formatTime } from "../valkey/archive/catalog";
import { holdingSets } from "../valkey/archive/keeping/holds";
import { recordFailedDrill, recordProof } from "../valkey/archive/keeping/proofs";
import type { Place } from "../valkey/archive/store";
import { chooseSets } from "../valkey/restoring/chosen-sets";
import type { DrilledShard } from "../valkey/restoring/drill";
import { drill } from "../valkey/restoring/drill";
import type { RestoreOptions } from "../valkey/restoring/loading";
import type { StagingServers } from "../valkey/restoring/staging";

/** @returns a sentence with the result. @throws the errors of `chooseSets` and of `drill`, which it records before */
export async function runDrill(
  place: Place,
  staging: StagingServers,
  directory: string,
  options: RestoreOptions,
): Promise<string> {
  let restore: Restore;
  let shards: readonly DrilledShard[];
  try {
    restore = await chooseSets(place, { at: undefined, option: "--at", version: staging.version });
    const chosen = restore;
    const places = { staging, directory: join(directory, "drill") };
    shards = await holdingSets(place, chosen, options.report, () => drill(chosen, places, options));
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
