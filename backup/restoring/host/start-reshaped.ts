/** Restores staged data, which are RDB files of the archive's shards, into a deployment of any shape and mode. */
import { BadInput } from "../../../lib/errors";
import { readFileInPieces } from "../../rdb/walk";
import type { KeySelection } from "../key-selection";
import { unmatchedProblems } from "../key-selection";
import type { PendingDataDirectory } from "../../archive/materialize";
import { beginDataDirectory } from "../../archive/materialize";
import type { RestoreOptions } from "../loading";
import { DEFAULT_DATABASES, awaitLoaded } from "../loading";
import type { RestoreShape } from "../restore-shape";
import { databasesProblem } from "../restore-shape";
import type { Deployment } from "../../../valkey/deployment";
import { splitRdbs } from "../../rdb/splitting/split";
import { formatRanges } from "../../../valkey/topology/slots";
import type { HostDeploymentPlan } from "../../../platforms/host/deployment-plan";
import type { Host } from "../../../platforms/host/host";
import type { StagedShard } from "../staging";
import { RESTORED, giveSlots, restoredPlan } from "./start-restored";

/**
 * To the primary that will serve a key's slot.
 * @throws BadInput if keys do not fit, or no key matches a pattern; then no server has started
 * @throws the errors of `splitRdbs`
 */
export async function writeReshaped(
  host: Host,
  staged: readonly StagedShard[],
  shape: RestoreShape,
  { replicas, keys, signal }: RestoreOptions & { readonly replicas: number; readonly keys: KeySelection },
): Promise<HostDeploymentPlan> {
  const directories: PendingDataDirectory[] = [];
  for (const [index, ranges] of shape.shards.entries()) {
    const directory = host.run.nodeDirectory(RESTORED, `${RESTORED}-${index}`);
    directories.push(await beginDataDirectory(directory));
    if (shape.mode === "cluster") giveSlots(directory, formatRanges(ranges));
  }
  let databases: readonly number[];
  try {
    ({ databases } = await splitRdbs(
      staged.map(({ file, ...source }) => ({ ...source, bytes: interruptible(file, signal) })),
      directories.map(({ base }, index) => ({ ranges: shape.shards[index] ?? [], sink: base })),
      ({ key }) => keys.has(key),
    ));
    const problem = databasesProblem(shape.mode, databases, host.programs.version);
    const problems = [...unmatchedProblems(keys, "--keys"), ...(problem === undefined ? [] : [problem])];
    if (problems.length > 0) throw BadInput.of("restore", "not-restorable", problems);
  } catch (error) {
    for (const { base } of directories) await base.discard();
    throw error;
  }
  for (const directory of directories) await directory.commit();
  const usual = shape.mode === "cluster" ? 1 : DEFAULT_DATABASES;
  return restoredPlan(shape, replicas, Math.max(usual, ...databases.map((database) => database + 1)));
}

/** Waits until they have loaded their data. They do not know each other yet. */
export async function startReshaped(host: Host, plan: HostDeploymentPlan, signal: AbortSignal): Promise<Deployment> {
  const deployment = await host.start(plan, signal);
  await awaitLoaded(deployment, signal);
  return deployment;
}

/** @throws the signal's reason when the signal is aborted */
async function* interruptible(file: string, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of readFileInPieces(file)) {
    signal.throwIfAborted();
    yield piece;
  }
}
