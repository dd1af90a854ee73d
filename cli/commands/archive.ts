import { type Problem, BadInput, Failure, messageOf, problem, problemText } from "../../lib/errors";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { epochMs } from "../../lib/clock";
import { withTimeLimit } from "../../lib/polling";
import { allRunsDirectories, runsDirectory } from "../../lib/system/paths";
import { formatBytes, formatDuration, parseDuration } from "../../lib/units";
import { BASE_SECONDS } from "../../model/backup";
import { openDeployment } from "../../platforms/deployment-reference";
import { RunDirectory, stopAbandonedRuns } from "../../platforms/host/run-directory";
import type { ArchiveEvent } from "../../backup/archive/archive-shard";
import { openArchive, runArchive } from "../../backup/archiver/run-archive";
import { formatTime } from "../../backup/archive/catalog";
import { readLayout } from "../../backup/archive/shard-layout";
import type { Place } from "../../backup/archive/store";
import type { Deployment } from "../../valkey/deployment";
import { placeAt } from "../../backup/archive/bucket/open-place";
import { type DeployedTarget, deployedTargets, findTarget } from "../targets/deployed-stack";
import { type OptionValues, wrongValue } from "../running/options";
import { externalDeployment, refuseUnlikeServers } from "../targets/external";
import { print } from "../terminal/terminal";
import { refuseServerOptions } from "./status";

const REPORT_MS = 10_000;
/** Age of the newest data of a shard after which the archive counts as stalled, milliseconds. */
const STALLED_MS = 5_000;
const SPOOL = ".spool";

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
  if (open !== undefined) await refuseUnlikeServers(open);
  const deployment = open ?? (await stackDeployment(stack ?? "", name));
  const spoolFolder = typeof spool === "string" ? resolve(spool) : undefined;
  const run = async (stop: AbortSignal): Promise<number> =>
    archiveInto(await openPlace(stop, printWithTime), deployment, spoolFolder, schedule, stop);
  if (forMs === undefined) return run(interruption);
  return withTimeLimit(interruption, forMs, run).catch((error: unknown) => {
    throw isTimeout(error) ? withoutBase("any shard") : error;
  });
}

/** Time was up before anything was archived. */
function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

function withoutBase(shards: string): Failure {
  return new Failure(`the command ended before the archive had a base of ${shards}, so no time can be restored yet`);
}

const printWithTime = (sentence: string): void => {
  print(`${formatTime(Date.now())} ${sentence}`);
};

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
  schedule: { readonly baseEveryMs: number | undefined; readonly keepMs: number | undefined },
  stop: AbortSignal,
): Promise<number> {
  // Nothing is written for servers that do not answer.
  await readLayout(deployment);
  const opened = await openArchive(place, deployment, stop).catch((error: unknown) => {
    if (stop.aborted || error instanceof BadInput) throw error;
    throw BadInput.of("archive", "into-unusable", messageOf(error), "--into");
  });
  const log = new ArchiveLog();
  const timer = setInterval(() => {
    log.report();
  }, REPORT_MS);
  try {
    await runArchive(opened, {
      ...{ deployment, ...schedule, signal: stop, log: printWithTime },
      openSpool: () => makeSpool(place, spoolFolder),
      onEvent: (event) => {
        log.add(event);
      },
    });
  } finally {
    clearInterval(timer);
  }
  log.finish();
  return 0;
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

/** RPO: how old the oldest command of a file was when it was in the archive (or the newest data). */
export class ArchiveLog {
  #bytes = 0;
  #recentMs = 0;
  #highestMs = 0;
  readonly #safeAt = new Map<string, number>();
  /** Names of the shards that have no base (RDB file) in the archive yet; undefined before the first period. */
  #missing: Set<string> | undefined;

  constructor(private readonly say = print) {}

  add(event: ArchiveEvent): void {
    if (event.kind === "period") {
      this.#missing = new Set(event.period.shards.map(({ name }) => name));
      this.#safeAt.clear();
    } else if (event.kind === "safe") this.#safeAt.set(event.shard, event.at);
    else if (event.kind === "continued") this.#missing?.delete(event.shard);
    else if (event.kind === "written") this.#addFile(event);
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
    if (missing !== "") throw withoutBase(missing);
    this.say(`Stopped. Highest ${rpo(this.#highestMs)}; ${formatBytes(this.#bytes)} of commands`);
  }

  #addFile({ shard, file }: Extract<ArchiveEvent, { kind: "written" }>): void {
    this.#missing?.delete(shard);
    if (file.keys !== undefined) return;
    this.#bytes += file.bytes;
    this.#record(file.ageMs);
  }

  #record(ageMs: number): void {
    this.#recentMs = Math.max(this.#recentMs, ageMs);
    this.#highestMs = Math.max(this.#highestMs, ageMs);
  }
}

const rpo = (milliseconds: number): string => `RPO ${(milliseconds / 1000).toFixed(2)} s`;
