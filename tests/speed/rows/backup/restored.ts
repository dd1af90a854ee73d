/** Restores archives with the functions that the command `restore` calls, step by step as it does. */
import type { Host } from "../../../../platforms/host/host";
import type { HostDeploymentPlan } from "../../../../platforms/host/deployment-plan";
import type { ServerComparison } from "../../../../valkey/restoring/compare-servers";
import { compareServers } from "../../../../valkey/restoring/compare-servers";
import type { StagedShard } from "../../../../valkey/restoring/staging";
import { stageSets } from "../../../../valkey/restoring/staging";
import { startReshaped, writeReshaped } from "../../../../platforms/host/restoring/start-reshaped";
import { restoredPlan, startRestored } from "../../../../platforms/host/restoring/start-restored";
import { stagingProcesses } from "../../../../platforms/host/restoring/staging-processes";
import { neededDatabases } from "../../../../valkey/restoring/loading";
import { Failure } from "../../../../lib/errors";
import type { Restore } from "../../../../valkey/archive/catalog";
import { KeySelection } from "../../../../valkey/restoring/key-selection";
import type { RestoreShape } from "../../../../valkey/restoring/restore-shape";
import { chooseShape } from "../../../../valkey/restoring/restore-shape";
import type { Deployment } from "../../../../valkey/deployment";
import { verifyUntilPass } from "../../../../valkey/verification/verify";

const SETTLING_MS = 60_000;

export interface Restored {
  readonly deployment: Deployment;
  readonly shape: RestoreShape;
  /** Compares every key with the archive, as the command does. */
  readonly compare: () => Promise<readonly ServerComparison[]>;
}

/** The shape with that many shards: one shard is replication. */
export function shapeOf({ period }: Restore, shards: number): RestoreShape {
  const shape = chooseShape(period, { mode: shards === 1 ? "replication" : "cluster", shards });
  if (typeof shape === "string") throw new Failure(shape);
  return shape;
}

/** Stages the archived data of each shard as an RDB file. */
export function stage(host: Host, restore: Restore, signal: AbortSignal): Promise<StagedShard[]> {
  return stageSets(stagingProcesses(host), restore, "absolute", { signal, report: () => undefined });
}

/**
 * Restores into servers of a host, and verifies them. They have DEBUG commands, so that benchmarks can read digests.
 * @param staged staged data, if there are any; else the archived data are staged when they are needed
 */
export async function restoreInto(
  host: Host,
  restore: Restore,
  shape: RestoreShape,
  signal: AbortSignal,
  staged?: readonly StagedShard[],
): Promise<Restored> {
  const options = { signal, report: () => undefined };
  const keys = new KeySelection();
  const isUnchanged = shape.isArchived && staged === undefined;
  let deployment: Deployment;
  let plan: HostDeploymentPlan;
  let files = staged;
  if (isUnchanged) {
    plan = withDebug(restoredPlan(shape, 0, neededDatabases(restore)));
    deployment = await startRestored(host, restore, plan, options);
  } else {
    files ??= await stage(host, restore, signal);
    plan = withDebug(await writeReshaped(host, files, shape, { ...options, replicas: 0, keys }));
    deployment = await startReshaped(host, plan, signal);
  }
  await host.form(deployment, plan.shape, options);
  const { verdict } = await verifyUntilPass(deployment, { settlingMs: SETTLING_MS, ...options });
  if (!verdict.pass) throw new Failure("the restored servers do not pass verification");
  const compare = async (): Promise<readonly ServerComparison[]> => {
    files ??= await stage(host, restore, signal);
    return compareServers(deployment, { staged: files, keys, isUnchanged, directory: host.run.path }, options);
  };
  return { deployment, shape, compare };
}

function withDebug(plan: HostDeploymentPlan): HostDeploymentPlan {
  return { ...plan, settings: { ...plan.settings, "enable-debug-command": "local" } };
}
