/** The task of the pod `NAME-drill`: a restore for a test, whose proof is recorded in the archive. */
import { join } from "node:path";
import { counted } from "../lib/units";
import { formatTime } from "../valkey/archive/catalog";
import { recordProof } from "../valkey/archive/keeping/proofs";
import type { Place } from "../valkey/archive/store";
import { chooseSets } from "../valkey/restoring/chosen-sets";
import { drill } from "../valkey/restoring/drill";
import type { RestoreOptions } from "../valkey/restoring/loading";
import type { StagingServers } from "../valkey/restoring/staging";

/** @returns a sentence with the result. @throws the errors of `chooseSets` and of `drill` */
export async function runDrill(
  place: Place,
  staging: StagingServers,
  directory: string,
  options: RestoreOptions,
): Promise<string> {
  const restore = await chooseSets(place, { at: undefined, option: "--at", version: staging.version });
  const shards = await drill(restore, { staging, directory: join(directory, "drill") }, options);
  const keys = shards.reduce((sum, shard) => sum + shard.keys, 0);
  const provenAt = Date.now();
  const records = shards.map(({ shard, set, instant }) => ({ shard, set, instant }));
  await recordProof(place, { provenAt, period: restore.period.name, keys, shards: records });
  const last = formatTime(Math.max(...shards.map(({ instant }) => instant)));
  return `PASS — ${counted(keys, "key")} of ${counted(shards.length, "shard")} as of ${last}: all equal to the archive`;
}
