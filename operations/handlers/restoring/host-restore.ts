import { type Problem, BadInput, Failure, problem, problemText, messageOf } from "../../../lib/errors";
import { join } from "node:path";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { z } from "zod";
import type { ReportProgress } from "../../../lib/progress";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../../lib/system/paths";
import { counted } from "../../../lib/units";
import type { DeploymentReference } from "../../../platforms/deployment-reference";
import { Host } from "../../../platforms/host/host";
import { findPrograms } from "../../../platforms/host/programs/programs";
import { stagingProcesses } from "../../../backup/restoring/start-restored";
import { RunDirectory, stopAbandonedRuns } from "../../../platforms/host/run-directory";
import type { Restore } from "../../../backup/archive/catalog";
import type { Deployment } from "../../../valkey/deployment";
import { chooseSets } from "../../../backup/restoring/chosen-sets";
import { type RestoreResult, restoreResultSchema } from "../../../backup/restoring/filling/fill-result";
import { fillDeployment } from "../../../backup/restoring/filling/fill-deployment";
import { filledProblem, readServers } from "../../../backup/restoring/filling/fill-problems";
import { readFilled, removeFilled } from "../../../backup/restoring/filling/filled-key";
import type { RestoreFrom } from "../../../backup/restoring/restore-from";
import {
  describeRestoreFrom,
  openRestoreFrom,
  restoredInstant,
  restoredKeys,
} from "../../../backup/restoring/restore-from";
import { canonicalJson } from "../../protocol/engine-values";
import { openForUpdate, openToLook } from "../../protocol/opening";
import { inspectOrReport } from "../../protocol/preview";
import type { HandlerContext, ResourceHandler } from "../../protocol/resource-handler";
import { replaceFile } from "../../../lib/system/replace-file";

/** `restore.json` in the run directory, from the first key on, so that an interrupted restore is continued. */
const recordSchema = z.object({
  /** Description of the restore: the archive, the keys and the rule for TTLs, as canonical JSON. */
  order: z.string(),
  /** Point in time to which the data are restored, milliseconds since 1970. */
  at: z.number(),
  /** Time from which TTLs count, milliseconds since the epoch. */
  time: z.number(),
  /** Result of the restore. Null until every server has been compared with the archive. */
  result: restoreResultSchema.nullable(),
});

const restoreFile = (directory: string): string => join(directory, "restore.json");

export interface HostRestoreInputs {
  readonly target: DeploymentReference;
  readonly password: string;
  /** New servers have a new directory, and are filled again. */
  readonly directory: string;
  /** A change has no effect on servers that have been filled. */
  readonly restoreFrom: RestoreFrom;
  /** The restore itself has no time limit. */
  readonly timeoutSeconds: number;
}

/** Result of the restore: `restoredAt` and the restored time of each shard (ISO 8601), and numbers of keys. */
export type HostRestoreOutputs = RestoreResult;

export const RESTORE_RUN = "restore of a deployment";
const REPORT_MS = 30_000;

/**
 * Fills the deployment and compares every server with the archive. After a failure, a part of the keys may have been
 * written. A record in the directory of the servers tells the next update what to continue.
 */
export const handler: ResourceHandler<HostRestoreInputs, HostRestoreOutputs> = {
  create: async (inputs, context) => ({ id: inputs.target.name, outputs: await restoreOnce(inputs, context) }),
  update: (_id, olds, news, context) => {
    const { restoredAt, shards, keys, expired } = olds;
    return news.directory === olds.directory
      ? Promise.resolve({ restoredAt, shards, keys, expired })
      : restoreOnce(news, context);
  },
  // The data stay. A different restoreFrom later must not pass for the one that filled the servers.
  delete: (_id, { directory }) => {
    removeRestoreRecord(directory);
    return Promise.resolve();
  },
  silentInputs: ["target", "password", "timeoutSeconds"],
  describeChange: ({ target, restoreFrom }, news) => {
    const from = news.restoreFrom;
    return from === undefined || canonicalJson(from) === canonicalJson(restoreFrom)
      ? []
      : [`${target.name}: restoreFrom has changed; it fills only a new deployment, so no data change`];
  },
  check: async (olds, news, context) => {
    const { restoreFrom, directory } = news;
    // The archive of servers that have been filled may be gone.
    if (restoreFrom === undefined || (olds !== undefined && (directory === undefined || directory === olds.directory)))
      return [];
    const earlier = directory === undefined ? undefined : readRestoreRecord(directory);
    if (earlier !== undefined && earlier.result !== null) return [];
    try {
      if (earlier !== undefined) refuseOtherOrder(earlier, restoreFrom);
      await chooseArchived(restoreFrom, earlier, (await programsOf(context)).version, context.signal);
      const { target, password } = news;
      if (earlier !== undefined || target === undefined || password === undefined) return [];
      const filled = await inspectOrReport(target.name, context.report, async () =>
        filledProblem(target.name, await readServers(await openToLook({ target, password }, context))),
      );
      return filled === undefined ? [] : [problem("has-data", "restoreFrom", filled)];
    } catch (error) {
      return problemsOf(error);
    }
  },
};

function problemsOf(error: unknown): Problem[] {
  if (error instanceof BadInput)
    return error.problems.map((each) => problem(each.code, "restoreFrom", `${error.subject}: ${problemText(each)}`));
  if (error instanceof Failure) return [problem("not-restorable", "restoreFrom", error.message)];
  throw error;
}

const programsOf = ({ signal }: HandlerContext): ReturnType<typeof findPrograms> =>
  findPrograms(packagesDirectory(), () => undefined, signal);

/** A restore that continues keeps the time of the earlier one. */
async function chooseArchived(
  restoreFrom: RestoreFrom,
  earlier: Pick<RestoreRecord, "at"> | undefined,
  version: string,
  signal: AbortSignal,
): Promise<Restore> {
  const place = await openRestoreFrom(restoreFrom, signal);
  const at = earlier?.at ?? restoredInstant(restoreFrom);
  return chooseSets(place, { at, option: "restoreFrom.at", version });
}

/** @throws BadInput if an interrupted restore with a different order has written a part of the keys */
function refuseOtherOrder({ order }: RestoreRecord, restoreFrom: RestoreFrom): void {
  if (order === canonicalJson(restoreFrom)) return;
  throw BadInput.of(
    "restoreFrom",
    "changed-since-interrupted",
    `it has changed since an interrupted update, which has written a part of the keys of ` +
      `${describeRestoreFrom(JSON.parse(order) as RestoreFrom)}; undo the change, or replace the servers (pulumi up --replace)`,
  );
}

async function restoreOnce(inputs: HostRestoreInputs, context: HandlerContext): Promise<RestoreResult> {
  const { directory, restoreFrom } = inputs;
  const earlier = readRestoreRecord(directory);
  // The state does not have the result if the engine was killed before it wrote the state.
  if (earlier !== undefined && earlier.result !== null) return earlier.result;
  if (earlier !== undefined) refuseOtherOrder(earlier, restoreFrom);
  return fill(inputs, earlier, context);
}

async function fill(
  inputs: HostRestoreInputs,
  earlier: RestoreRecord | undefined,
  context: HandlerContext,
): Promise<RestoreResult> {
  await stopAbandonedRuns(...allRunsDirectories());
  const programs = await programsOf(context);
  const { deployment } = await openForUpdate(inputs, context);
  const filled = earlier === undefined ? undefined : await readFilled(deployment, earlier.time);
  if (earlier !== undefined && filled !== undefined) return record(deployment, inputs, { ...earlier, result: filled });
  const restored = await chooseArchived(inputs.restoreFrom, earlier, programs.version, context.signal);
  const host = new Host(RunDirectory.create(runsDirectory(), RESTORE_RUN), programs);
  try {
    return await fillFrom(deployment, host, { inputs, earlier, restored }, context);
  } catch (error) {
    const exited: unknown = host.unexpectedExit.reason;
    throw !context.signal.aborted && exited instanceof Error ? exited : error;
  } finally {
    await host.stop();
  }
}

interface Filling {
  readonly inputs: HostRestoreInputs;
  readonly earlier: RestoreRecord | undefined;
  readonly restored: Restore;
}

/** @param host directory and processes of the staging servers */
async function fillFrom(
  deployment: Deployment,
  host: Host,
  { inputs: { directory, restoreFrom }, earlier, restored }: Filling,
  context: HandlerContext,
): Promise<RestoreResult> {
  const signal = AbortSignal.any([context.signal, host.unexpectedExit]);
  const report = throttled(deployment.name, context.report);
  report(`restoring ${describeRestoreFrom(restoreFrom)}`);
  // Not rounded: a restore that continues finds the same instants again, also while the archive is still being written.
  const at = Math.max(...restored.shards.map(({ point }) => point.at));
  const order = canonicalJson(restoreFrom);
  let began: RestoreRecord | undefined;
  const { result } = await fillDeployment(
    deployment,
    {
      restored,
      keys: restoredKeys(restoreFrom),
      ttl: restoreFrom.ttl ?? "absolute",
      continues: earlier?.time,
      onBegin: (time) => {
        began = { order, at: earlier?.at ?? at, time, result: null };
        writeRestoreRecord(directory, began);
      },
    },
    stagingProcesses(host),
    { signal, report },
  );
  if (began === undefined) throw new Error("the restore did not begin");
  report(`restored and compared ${counted(result.keys, "key")}`);
  return record(deployment, { directory }, { ...began, result });
}

/** Records the result beside the deployment, in place of the record in its data. */
async function record(
  deployment: Deployment,
  { directory }: Pick<HostRestoreInputs, "directory">,
  { result, ...began }: RestoreRecord & { readonly result: RestoreResult },
): Promise<RestoreResult> {
  writeRestoreRecord(directory, { ...began, result });
  await removeFilled(deployment);
  return result;
}

/** Prints passing lines at most every 30 s, and all other lines at once. */
function throttled(name: string, report: ReportProgress): ReportProgress {
  let last = Date.now();
  return (line, passing = false) => {
    if (passing && Date.now() - last < REPORT_MS) return;
    last = Date.now();
    report(`${name}: ${line}`);
  };
}

type RestoreRecord = z.infer<typeof recordSchema>;

/** @returns undefined if no restore has written a key. @throws Failure if the record cannot be read */
function readRestoreRecord(directory: string): RestoreRecord | undefined {
  const file = restoreFile(directory);
  if (!existsSync(file)) return undefined;
  try {
    return recordSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

function writeRestoreRecord(directory: string, record: RestoreRecord): void {
  replaceFile(restoreFile(directory), JSON.stringify(record, null, 2));
}

function removeRestoreRecord(directory: string): void {
  rmSync(restoreFile(directory), { force: true });
}
