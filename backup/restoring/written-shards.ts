import { Failure } from "../../lib/errors";
import type { SlotRange } from "../../valkey/topology/slots";
import { type PendingDataDirectory, beginDataDirectory } from "../archive/materialize";
import { splitRdbs } from "../rdb/splitting/split";
import { readFileInPieces } from "../rdb/walk";
import { type KeySelection, unmatchedProblems } from "./key-selection";
import type { StagedShard } from "./staging";

interface WriteOptions {
  readonly isArchived: boolean;
  readonly keys: KeySelection;
  /** Returns why servers cannot have keys in these databases; undefined if they can. */
  readonly databasesProblem: (databases: readonly number[]) => string | undefined;
  readonly signal: AbortSignal;
}

/**
 * @returns the databases that have keys
 * @throws Failure if keys do not fit, or no key matches a pattern; the errors of `splitRdbs`. Servers then load nothing
 */
export async function writeShards(
  staged: readonly StagedShard[],
  shards: readonly { readonly directory: string; readonly ranges: readonly SlotRange[] }[],
  { isArchived, keys, databasesProblem, signal }: WriteOptions,
): Promise<readonly number[]> {
  const directories: PendingDataDirectory[] = [];
  const databases: number[] = [];
  try {
    for (const { directory } of shards) directories.push(await beginDataDirectory(directory));
    const sources = staged.map(({ file, ...source }) => ({ ...source, bytes: interruptible(file, signal) }));
    const targets = directories.map(({ base }, index) => ({ ranges: shards[index]?.ranges ?? [], sink: base }));
    const splits = isArchived
      ? sources.map((source, index) => ({ from: [source], to: targets.slice(index, index + 1) }))
      : [{ from: sources, to: targets }];
    for (const { from, to } of splits)
      databases.push(...(await splitRdbs(from, to, ({ key }) => keys.has(key))).databases);
    const problem = databasesProblem(databases);
    const problems = [...unmatchedProblems(keys, "--keys"), ...(problem === undefined ? [] : [problem])];
    if (problems.length > 0) throw new Failure(`nothing was restored: ${problems.join("; ")}`);
  } catch (error) {
    for (const { base } of directories) await base.discard();
    throw error;
  }
  for (const directory of directories) await directory.commit();
  return databases;
}

/** @throws the signal's reason when the signal is aborted */
async function* interruptible(file: string, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of readFileInPieces(file)) {
    signal.throwIfAborted();
    yield piece;
  }
}
