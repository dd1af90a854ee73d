import { epochMs } from "../../../lib/clock";
import { BadInput, Failure } from "../../../lib/errors";
import { awaitCondition } from "../../../lib/polling";
import { counted } from "../../../lib/units";
import type { Restore } from "../../archive/catalog";
import { readLayout } from "../../archive/shard-layout";
import type { Deployment } from "../../../valkey/deployment";
import { FunctionLibraries } from "../../rdb/splitting/function-libraries";
import type { RdbKey } from "../../rdb/rdb-visitor";
import { readFileInPieces, walkRdb } from "../../rdb/walk";
import { infoNumber, parseInfo } from "../../../valkey/topology/replies";
import { BulkWriter } from "./bulk-writer";
import { type ServerComparison, compareServers, differencesOf } from "../compare-servers";
import { dataProblems, filledProblem, formatProgress, readServers, versionProblems } from "./fill-problems";
import { type ReplaySource, KeyReader } from "../key-reader";
import { type RestoreResult, resultOf } from "./fill-result";
import { writeFilled } from "./filled-key";
import type { TtlRule } from "../../../model/backup";
import { type KeySelection, ttlShift } from "../key-selection";
import type { RestoreOptions } from "../loading";
import { type StagingServers, stageSets } from "../staging";
import { type WantedKeys, scanWanted } from "../wanted-keys";
import { withConnection } from "../../../valkey/connections";

export interface FillOrder {
  readonly restored: Restore;
  readonly keys: KeySelection;
  readonly ttl: TtlRule;
  /** From `onBegin` of an earlier call, milliseconds since the epoch: existing keys are kept, TTLs count from it. */
  readonly continues: number | undefined;
  /** Called before the first key is written, with the time for `continues` of a later call. */
  readonly onBegin: (time: number) => void | Promise<void>;
}

export interface Filled {
  readonly result: RestoreResult;
  readonly comparisons: readonly ServerComparison[];
}

/** Longest time for replicas to receive what was written, milliseconds. */
const REPLICATION_MS = 3_600_000;
const PASSES = 5;
const NAMED = 10;

/**
 * Existing keys are never changed. After an interruption, call it again with `continues`.
 * @throws BadInput, before any write, if the deployment has data, or the data do not fit
 * @throws Failure if a server refuses a key, is away for a minute, or differs from the archive at the end; the signal's
 * reason
 */
export async function fillDeployment(
  target: Deployment,
  order: FillOrder,
  staging: StagingServers,
  options: RestoreOptions,
): Promise<Filled> {
  const { restored, keys, ttl, continues } = order;
  const { signal, report } = options;
  const { unsettled } = await readLayout(target);
  if (unsettled !== undefined) throw new Failure(`${target.name} cannot be filled at this moment: ${unsettled}`);
  const servers = await readServers(target);
  const filled = continues === undefined ? filledProblem(target.name, servers) : undefined;
  refuse([...(filled === undefined ? [] : [filled]), ...versionProblems(target.name, servers, restored)]);
  const loaded = await stageSets(staging, restored, ttl, options);
  const time = continues ?? epochMs();
  const staged = loaded.map((shard) => ({ ...shard, shiftMs: ttlShift(ttl, shard.at, time) }));
  const sources = staged.map(({ file, ...source }) => ({ ...source, open: () => readFileInPieces(file) }));
  const isWanted = ({ key }: RdbKey): boolean => keys.has(key);
  report("reading the keys", true);
  const wanted = await scanWanted(sources, isWanted);
  refuse(await dataProblems(target, servers, staged, wanted, keys));
  signal.throwIfAborted();
  await order.onBegin(time);
  for (let pass = 1; pass <= PASSES; pass++) {
    const isDisturbed = await writeKeys(target, sources, { isWanted, count: wanted.count }, options);
    // A primary that was replaced meanwhile may have lost keys that it had acknowledged. The next pass finds them.
    if (!isDisturbed) break;
  }
  await loadLibraries(target, wanted);
  report("waiting until the replicas have all keys", true);
  await awaitReplicas(target, signal);
  const data = { staged, keys, isUnchanged: false, directory: staging.directory };
  const comparisons = await compareServers(target, data, options);
  refuseDifferences(target.name, comparisons);
  const first = [...new Map(comparisons.toReversed().map(({ shard, comparison }) => [shard, comparison])).values()];
  const result = resultOf({
    shards: staged,
    keys: first.reduce((sum, comparison) => sum + comparison.keys[0], 0),
    expired: first.reduce((sum, comparison) => sum + comparison.expired, 0),
  });
  await writeFilled(target, time, result);
  return { result, comparisons };
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw BadInput.of("restoreFrom", "not-fillable", problems);
}

/** Files have different slots, so reading them in parallel keeps several primaries busy. @returns `isDisturbed` */
async function writeKeys(
  target: Deployment,
  sources: readonly ReplaySource[],
  { isWanted, count }: { readonly isWanted: (key: RdbKey) => boolean; readonly count: number },
  { signal, report }: RestoreOptions,
): Promise<boolean> {
  const writer = new BulkWriter(target, signal);
  try {
    const results = await Promise.allSettled(
      sources.map(async ({ open, shiftMs }) => {
        const reader = new KeyReader(isWanted, shiftMs);
        await walkRdb(open(), reader, async () => {
          await writer.write(reader.take());
          report(`writing keys: ${formatProgress(writer.written + writer.kept + writer.expired, count)}`, true);
        });
      }),
    );
    for (const result of results) if (result.status === "rejected") throw result.reason;
    await writer.finish();
    return writer.isDisturbed;
  } finally {
    writer.close();
  }
}

/** Replicas receive them from their primaries. */
async function loadLibraries(target: Deployment, wanted: WantedKeys): Promise<void> {
  const libraries = new FunctionLibraries();
  for (const { shard, code } of wanted.libraries) libraries.add(shard, code);
  if (libraries.codes.length === 0) return;
  for (const { members } of (await readLayout(target)).shards) {
    const primary = members.find(({ isPrimary }) => isPrimary)?.node;
    if (primary === undefined) throw new Failure(`${target.name}: a shard has no primary that answers`);
    await withConnection(target.connect(primary), async (connection) => {
      for (const code of libraries.codes) await connection.call("FUNCTION", ["LOAD", "REPLACE", code]);
    });
  }
}

async function awaitReplicas(target: Deployment, signal: AbortSignal): Promise<void> {
  const shards = (await readLayout(target)).shards;
  for (const { members } of shards) {
    const primary = members.find(({ isPrimary }) => isPrimary)?.node;
    if (primary === undefined) continue;
    const offset = (await replicationInfo(target, primary)).offset ?? 0;
    for (const { node } of members) {
      const check = async (): Promise<boolean> => {
        const { offset: received = -1, isLinked } = await replicationInfo(target, node);
        return received >= offset && (node === primary || isLinked);
      };
      await awaitCondition(`${node.name} has all keys of ${primary.name}`, check, {
        timeoutMs: REPLICATION_MS,
        intervalMs: 200,
        signal,
      });
    }
  }
}

async function replicationInfo(
  target: Deployment,
  node: Deployment["nodes"][number],
): Promise<{ readonly offset: number | undefined; readonly isLinked: boolean }> {
  const info = parseInfo(await withConnection(target.connect(node), (connection) => connection.info("replication")));
  const offset = infoNumber(info, "slave_repl_offset") ?? infoNumber(info, "master_repl_offset");
  return { offset, isLinked: info.get("master_link_status") === "up" };
}

function refuseDifferences(name: string, comparisons: readonly ServerComparison[]): void {
  const unequal = comparisons.filter(({ comparison }) => !comparison.isEqual);
  if (unequal.length === 0) return;
  const lines = unequal.flatMap(differencesOf);
  const rest = lines.length - NAMED;
  throw new Failure(
    [
      `FAIL — ${name} does not have the data of the archive: ${unequal.map(({ server }) => server).join(", ")}`,
      ...lines.slice(0, NAMED),
      ...(rest > 0 ? [`  and ${counted(rest, "more difference")}`] : []),
    ].join("\n"),
  );
}
