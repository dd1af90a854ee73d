/** `npm start -- archive`: writes a deployment's data and every later change into a folder or a bucket. */
import type { Problem } from "../../lib/errors";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { describeStep, epochMs } from "../../lib/clock";
import { BadInput, Failure, messageOf, problem, problemText } from "../../lib/errors";
import { withTimeLimit } from "../../lib/polling";
import { allRunsDirectories, runsDirectory } from "../../lib/system/paths";
import { counted, formatBytes, formatDuration, parseDuration } from "../../lib/units";
import { BASE_SECONDS } from "../../backup/archiver/pod-settings";
import { openDeployment } from "../../platforms/deployment-reference";
import { RunDirectory, stopAbandonedRuns } from "../../platforms/host/run-directory";
import { archiveDeployment } from "../../backup/archive/archive-deployment";
import type { ArchiveEvent } from "../../backup/archive/archive-shard";
import { Retention } from "../../backup/archive/keeping/retention";
import { formatTime } from "../../backup/archive/catalog";
import { claimArchive, ownerProblem, readOwner } from "../../backup/archive/periods";
import type { ArchiveOwner } from "../../backup/archive/periods";
import { readLayout } from "../../backup/archive/shard-layout";
import type { Lease } from "../../backup/archive/lease";
import type { Place } from "../../backup/archive/store";
import type { Deployment } from "../../valkey/deployment";
import { formatEndpoint } from "../../valkey/node";
import { placeAt } from "../../backup/archive/bucket/open-place";
import type { DeployedTarget } from "../targets/deployed-stack";
import type { OptionValues } from "../running/options";
import { wrongValue } from "../running/options";
import { deployedTargets, findTarget } from "../targets/deployed-stack";
import { externalDeployment } from "../targets/external";
import { print } from "../terminal/terminal";
import { refuseServerOptions } from "./status";

const REPORT_MS = 10_000;
/** Age of the newest data of a shard after which the archive counts as stalled, milliseconds. */
const STALLED_MS = 5_000;
/** Folder, inside the folder of an archive, for commands that are not yet in the archive (the spool). */
const SPOOL = ".spool";
/** Names with a leading dot do not count. */
const FIRST_NAMES = 20;

export async function archive(
  stack: string | undefined,
  { into, for: duration, deployment: name, spool, baseEvery, keep, ...others }: OptionValues,
  interruption: AbortSignal,
): Promise<number> {
  const { endpoint, region, encryption, pathStyle, ...servers } = others;
  const problems: Problem[] = [];
  const where: Problem[] = [];
  const bucket = { endpoint, region, encryption, pathStyle };
  const openPlace = typeof into === "string" && into !== "" ? placeAt(into, bucket, where) : undefined;
  if (openPlace === undefined)
    problems.push(problem("missing", "--into", "name the folder for the sets, or s3://BUCKET/PREFIX"));
  problems.push(
    ...where.map((each) => (each.path.startsWith("--") ? each : problem(each.code, "--into", problemText(each)))),
  );
  const forMs = durationMs("--for", duration, problems);
  const schedule = {
    baseEveryMs: durationMs("--base-every", baseEvery, problems, BASE_SECONDS),
    keepMs: durationMs("--keep", keep, problems),
  };
  if (stack === undefined && name !== undefined)
    problems.push(problem("needs-stack", "--deployment", " applies to a stack only"));
  const open = stack === undefined ? externalDeployment(servers, process.env, problems).deployment : undefined;
  if (stack !== undefined) refuseServerOptions("archive", servers, problems);
  if (openPlace === undefined || problems.length > 0) throw new BadInput("archive", problems);
  const deployment = open ?? (await stackDeployment(stack ?? "", name));
  const spoolFolder = typeof spool === "string" ? resolve(spool) : undefined;
  const run = async (stop: AbortSignal): Promise<number> =>
    archiveInto(await openPlace(stop, printWithTime), deployment, spoolFolder, schedule, stop);
  return forMs === undefined ? run(interruption) : withTimeLimit(interruption, forMs, run);
}

const printWithTime = (sentence: string): void => {
  print(`${formatTime(Date.now())} ${sentence}`);
};

interface Schedule {
  readonly baseEveryMs: number | undefined;
  /** Undefined to keep all sets. */
  readonly keepMs: number | undefined;
}

function durationMs(
  option: string,
  value: unknown,
  problems: Problem[],
  { min, max }: { readonly min: number; readonly max: number } = { min: 0, max: Infinity },
): number | undefined {
  if (value === undefined) return undefined;
  const seconds = parseDuration(value);
  if (seconds === undefined)
    problems.push(wrongValue(option, value, "a duration such as 90s, 10m or 2h", "not-a-duration"));
  else if (seconds < min || seconds > max)
    problems.push(wrongValue(option, value, `from ${formatDuration(min)} to ${formatDuration(max)}`, "out-of-range"));
  return seconds === undefined ? undefined : seconds * 1000;
}

async function stackDeployment(stack: string, name: unknown): Promise<Deployment> {
  const chosen = chooseTarget(stack, await deployedTargets(stack, process.cwd()), name);
  return openDeployment(chosen.target, chosen.password);
}

export function chooseTarget(stack: string, targets: readonly DeployedTarget[], name: unknown): DeployedTarget {
  const names = targets.map(({ target }) => target.name);
  const chosen = findTarget(targets, name);
  if (chosen === undefined)
    throw BadInput.of(
      "archive",
      "deployment-not-named",
      name === undefined
        ? `--deployment: a folder has one deployment, and stack ${stack} has ${names.join(", ")}; name one`
        : `--deployment: stack ${stack} has no deployment ${JSON.stringify(name)}; it has ${names.join(", ")}`,
    );
  if (chosen.target.platform === "kubernetes")
    throw BadInput.of(
      "archive",
      "on-kubernetes",
      `stack ${stack}: ${chosen.target.name} runs on Kubernetes, which archive cannot follow yet; ` +
        "it follows stacks of the platform host, and the servers that --nodes names",
    );
  return chosen;
}

async function archiveInto(
  place: Place,
  deployment: Deployment,
  spoolFolder: string | undefined,
  { baseEveryMs, keepMs }: Schedule,
  stop: AbortSignal,
): Promise<number> {
  const wanted = ownerOf(deployment);
  const owner = await readOwner(place);
  const problem = owner === undefined ? await otherFiles(place) : ownerProblem(owner, wanted);
  if (problem !== undefined) throw BadInput.of("archive", "into-refused", `${place.label}: ${problem}`, "--into");
  // Nothing is written for servers that do not answer.
  await readLayout(deployment);
  const lease = await takeLease(place, stop);
  const signal = AbortSignal.any([stop, lease.lost]);
  const log = new ArchiveLog();
  const liveSets = new Set<string>();
  const retention = keepMs === undefined ? undefined : retentionOf(place, keepMs, liveSets, lease.lost, stop);
  const timer = setInterval(() => {
    log.report();
  }, REPORT_MS);
  let spoolDirectory: string | undefined;
  try {
    spoolDirectory = await makeSpool(place, spoolFolder);
    await claimArchive(place, wanted, place.label);
    await archiveDeployment({
      store: place,
      deployment,
      spoolDirectory,
      baseEveryMs,
      liveSets,
      signal,
      onEvent: (event) => {
        log.add(event);
        // Sets become obsolete when new ones begin. Not before the first period, because the files of a deletion would
        // count as left by a killed process.
        if (event.kind === "period" || (event.kind === "written" && event.file.keys !== undefined)) retention?.tidy();
      },
    });
    lease.lost.throwIfAborted();
  } finally {
    clearInterval(timer);
    if (spoolDirectory !== undefined) rmSync(spoolDirectory, { recursive: true, force: true });
    await retention?.end();
    await lease.release();
  }
  log.finish();
  return 0;
}

/** A failure does not end the archive, because the next search tries again. */
function retentionOf(
  place: Place,
  keepMs: number,
  liveSets: ReadonlySet<string>,
  lost: AbortSignal,
  signal: AbortSignal,
): Retention {
  return new Retention(place, {
    ...{ keepMs, liveSets, lost, signal },
    onTidied: ({ deleted }) => {
      for (const { period, shard, set } of deleted) printWithTime(`${shard}: deleted set ${period}/${shard}/${set}`);
    },
    onError: (error) => {
      printWithTime(`old sets were not deleted: ${messageOf(error)}`);
    },
  });
}

/** Undefined if the folder or bucket is empty or missing. */
async function otherFiles(place: Place): Promise<string | undefined> {
  const files = (await place.list("", FIRST_NAMES)).filter((name) => !name.startsWith("."));
  const kind = place.isRemote ? "prefix" : "folder";
  return files.length === 0 ? undefined : `the ${kind} has other files and no archive; use a new ${kind}`;
}

/** In the cache it is the directory of a run, because the next run removes those of killed runs. @throws BadInput */
async function makeSpool(place: Place, folder: string | undefined): Promise<string> {
  try {
    if (folder !== undefined) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return mkdtempSync(join(folder, "archive-"));
    }
    if (place.isRemote) {
      await stopAbandonedRuns(...allRunsDirectories());
      return RunDirectory.create(runsDirectory(), "archive").path;
    }
    const own = join(place.label, SPOOL);
    rmSync(own, { recursive: true, force: true });
    mkdirSync(own, { mode: 0o700 });
    return own;
  } catch (error) {
    throw BadInput.of("archive", "spool-unusable", messageOf(error), "--spool");
  }
}

async function takeLease(place: Place, signal: AbortSignal): Promise<Lease> {
  let lease: Lease | undefined;
  try {
    lease = await place.lease(signal);
  } catch (error) {
    signal.throwIfAborted();
    throw BadInput.of("archive", "into-unusable", messageOf(error), "--into");
  }
  if (lease === undefined)
    throw BadInput.of("archive", "archive-in-use", `a different process archives into ${place.label}`, "--into");
  return lease;
}

function ownerOf({ name, mode, nodes }: Deployment): ArchiveOwner {
  return { deployment: name, mode, nodes: nodes.map(({ endpoint }) => formatEndpoint(endpoint)) };
}

/** RPO: how old the oldest command of a file was when it was in the archive (or the newest data). */
export class ArchiveLog {
  #bytes = 0;
  #recentMs = 0;
  #highestMs = 0;
  /** Time until which the commands of a shard are in the archive, by shard, milliseconds since the epoch. */
  readonly #safeAt = new Map<string, number>();
  /** Names of the shards that have no base (RDB file) in the archive yet; undefined before the first period. */
  #missing: Set<string> | undefined;

  constructor(private readonly say = print) {}

  add(event: ArchiveEvent): void {
    const at = formatTime(Date.now());
    switch (event.kind) {
      case "period": {
        this.#missing = new Set(event.period.shards.map(({ name }) => name));
        this.#safeAt.clear();
        const shards = counted(event.period.shards.length, "shard");
        this.say(`${at} ${event.isNew ? "new" : "continued"} period ${event.period.name} with ${shards}`);
        return;
      }
      case "connect":
        this.say(`${at} ${event.shard}: following ${event.node}`);
        return;
      case "continued":
        this.#missing?.delete(event.shard);
        this.say(`${at} ${event.shard}: the stream goes on where the archive ended`);
        return;
      case "written":
        this.#addFile(at, event);
        return;
      case "safe":
        this.#safeAt.set(event.shard, event.at);
        return;
      case "spool":
        return;
      case "waiting":
        this.say(`${at} waiting: ${event.why}`);
        return;
      case "postponed":
        this.say(`${at} ${event.shard}: the new base failed and will be tried again: ${event.why}`);
        return;
      case "clock":
        this.say(`${at} ${describeStep(event.stepMs)}`);
        return;
      case "moved":
        this.say(`${at} slots have moved, so the period ends and every shard gets a new base`);
    }
  }

  report(): void {
    const missing = [...(this.#missing ?? [])].join(", ");
    const stalledMs = epochMs() - Math.min(...this.#safeAt.values());
    if (stalledMs > STALLED_MS) this.#record(stalledMs);
    const state = missing === "" ? rpo(this.#recentMs) : `no base yet of ${missing}`;
    if (this.#missing !== undefined)
      this.say(`${formatTime(Date.now())} ${state}; ${formatBytes(this.#bytes)} of commands in all`);
    this.#recentMs = 0;
  }

  finish(): void {
    const missing = [...(this.#missing ?? ["any shard"])].join(", ");
    if (missing !== "")
      throw new Failure(
        `the command ended before the archive had a base of ${missing}, so no time can be restored yet`,
      );
    this.say(`Stopped. Highest ${rpo(this.#highestMs)}; ${formatBytes(this.#bytes)} of commands`);
  }

  #addFile(at: string, { shard, file }: Extract<ArchiveEvent, { kind: "written" }>): void {
    this.#missing?.delete(shard);
    if (file.keys === undefined) {
      this.#bytes += file.bytes;
      this.#record(file.ageMs);
    } else this.say(`${at} ${shard}: base with ${counted(file.keys, "key")}, ${formatBytes(file.bytes)}`);
  }

  #record(ageMs: number): void {
    this.#recentMs = Math.max(this.#recentMs, ageMs);
    this.#highestMs = Math.max(this.#highestMs, ageMs);
  }
}

const rpo = (milliseconds: number): string => `RPO ${(milliseconds / 1000).toFixed(2)} s`;
