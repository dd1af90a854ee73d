/**
 * `npm start -- restore`: restores an archive on this machine, and compares every key of the restored servers with the
 * archive.
 */
import { once } from "node:events";
import { resolve } from "node:path";
import { BadInput, Failure } from "../../lib/errors";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/system/paths";
import { textTable } from "../../lib/table";
import { counted, formatCount } from "../../lib/units";
import type { ServerComparison } from "../../platforms/host/compare-restored";
import { compareRestored } from "../../platforms/host/compare-restored";
import { Host } from "../../platforms/host/host";
import type { Programs } from "../../platforms/host/programs/programs";
import { findPrograms } from "../../platforms/host/programs/programs";
import { restoredPlan, startRestored } from "../../platforms/host/restore";
import { RunDirectory, stopAbandonedRuns } from "../../platforms/host/run-directory";
import type { Catalog, Restore } from "../../valkey/archive/catalog";
import { chooseRestore, formatTime, newerDamage, readCatalog } from "../../valkey/archive/catalog";
import { loadProblem } from "../../valkey/archive/loadable";
import { DirectoryStore } from "../../valkey/archive/store";
import type { Deployment } from "../../valkey/deployment";
import { nodeCount } from "../../valkey/topology/placement";
import type { Verification } from "../../valkey/verification/verify";
import { verifyUntilPass } from "../../valkey/verification/verify";
import { runSteps, StepFailure } from "../terminal/steps";
import { print } from "../terminal/terminal";
import { connectCommand, printFailures } from "./run-output";

/** Time limit for the verdict to pass, milliseconds. */
const SETTLING_MS = 60_000;
const LATEST = "latest";
export const DEFAULT_REPLICAS = 0;
/** Pattern of an instant: ISO 8601 with a time zone. */
const INSTANT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;
const MOST_REPLICAS = 5;

/**
 * Restores an archive, verifies the restored servers, and compares their keys with the archive. Then the servers run
 * until Ctrl-C, unless `check` is set.
 * @returns 0 if verification and comparison pass, else 1
 * @throws BadInput with every problem, before any server starts; Failure; Interrupted
 */
export async function restore(
  folder: string,
  values: Readonly<Record<string, unknown>>,
  interruption: AbortSignal,
): Promise<number> {
  const { chosen, programs, replicas } = await readInput(resolve(folder), values, interruption);
  const run = new RestoreRun(chosen, programs, replicas, interruption);
  try {
    await run.execute();
    if (values["check"] !== true) await run.serve();
    return run.passed ? 0 : 1;
  } finally {
    await run.stop();
  }
}

interface Input {
  readonly chosen: Restore;
  readonly programs: Programs;
  readonly replicas: number;
}

async function readInput(
  folder: string,
  { into, at = LATEST, replicas = DEFAULT_REPLICAS }: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<Input> {
  const problems: string[] = [];
  if (into !== "local") problems.push(`--into is ${JSON.stringify(into ?? "missing")}: expected local (this machine)`);
  const time = String(at);
  const instant = parseInstant(time);
  if (instant === undefined && time !== LATEST)
    problems.push(`--at is ${JSON.stringify(at)}: expected ${LATEST}, or a time such as 2026-11-24T08:00:00Z`);
  const count = /^\d+$/.test(String(replicas)) ? Number(replicas) : Infinity;
  if (count > MOST_REPLICAS)
    problems.push(`--replicas is ${JSON.stringify(replicas)}: expected a whole number from 0 to ${MOST_REPLICAS}`);
  let chosen: Restore | string | undefined;
  let catalog: Catalog | undefined;
  try {
    catalog = await readCatalog(new DirectoryStore(folder), folder);
    if (instant !== undefined || time === LATEST) chosen = chooseRestore(catalog, instant);
    if (typeof chosen === "string")
      problems.push(`--at: ${chosen}`, ...catalog.damaged.map(({ text }) => `DAMAGED ${text}`));
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    problems.push(...error.problems.map((problem) => `${error.subject}: ${problem}`));
  }
  if (problems.length > 0 || catalog === undefined || chosen === undefined || typeof chosen === "string")
    throw new BadInput("restore", problems);
  print(...catalog.damaged.map(({ text }) => `DAMAGED ${text}`));
  if (instant === undefined) refuseDamage(catalog, chosen);
  const programs = await findPrograms(packagesDirectory(), () => undefined, signal);
  const unloadable = chosen.shards.flatMap(({ name, set }) => {
    const problem = loadProblem(set.base, programs.version);
    return problem === undefined ? [] : [`${name}, set ${set.name}: ${problem}`];
  });
  if (unloadable.length > 0) throw new BadInput("restore", unloadable);
  return { chosen, programs, replicas: count };
}

/** A time as milliseconds since the epoch. Undefined for other texts, and for a day that does not exist. Pure. */
export function parseInstant(text: string): number | undefined {
  const day = INSTANT.exec(text)?.[1];
  const [time, midnight] = [Date.parse(text), Date.parse(`${day}T00:00:00Z`)];
  // 30 February would be 2 March.
  if (day === undefined || Number.isNaN(time) || Number.isNaN(midnight)) return undefined;
  return new Date(midnight).toISOString().startsWith(day) ? time : undefined;
}

/** Refuses to take an older state for the last one. @throws Failure if data after the last time are damaged */
function refuseDamage(catalog: Catalog, chosen: Restore): void {
  if (newerDamage(catalog, chosen).length === 0) return;
  const last = formatTime(Math.max(...chosen.shards.map(({ point }) => point.at)));
  throw new Failure(
    `the archive has damaged data after ${last}, the last time that can be restored; ` +
      "to restore an older state, name its time with --at",
  );
}

/** One restore: its servers, verification and comparison. */
class RestoreRun {
  #host: Host | undefined;
  #deployment: Deployment | undefined;
  #verification: Verification | undefined;
  #comparisons: readonly ServerComparison[] = [];

  constructor(
    private readonly restored: Restore,
    private readonly programs: Programs,
    private readonly replicas: number,
    private readonly interruption: AbortSignal,
  ) {}

  get passed(): boolean {
    const isEqual = this.#comparisons.length > 0 && this.#comparisons.every(({ comparison }) => comparison.isEqual);
    return isEqual && this.#verification?.verdict.pass === true;
  }

  async execute(): Promise<void> {
    await stopAbandonedRuns(...allRunsDirectories());
    const host = new Host(RunDirectory.create(runsDirectory(), "restore"), this.programs);
    this.#host = host;
    const signal = AbortSignal.any([this.interruption, host.unexpectedExit]);
    const plan = restoredPlan(this.restored, this.replicas);
    const servers = counted(nodeCount(plan.shape), "server");
    const began = performance.now();
    try {
      const ran = await runSteps([
        {
          title: `Write the sets and start ${servers}`,
          run: async (report) => {
            this.#deployment = await startRestored(host, this.restored, plan, { signal, report });
            return `${servers} of Valkey ${this.programs.version} loaded the sets in ${secondsSince(began)} s`;
          },
        },
        {
          title: "Form",
          run: async (report) => {
            await host.form(this.#ready(), plan.shape, { signal, report });
            return undefined;
          },
        },
        {
          title: "Verify",
          run: async (report) => {
            const verification = await verifyUntilPass(this.#ready(), { settlingMs: SETTLING_MS, signal, report });
            this.#verification = verification;
            const line = `Verify: ${verification.verdict.pass ? "PASS" : "FAIL"}`;
            if (!verification.verdict.pass) throw new StepFailure(line);
            return line;
          },
        },
        {
          title: "Compare every key with the sets",
          run: async (report) => {
            const shards = this.#verification?.verdict.shards ?? [];
            this.#comparisons = await compareRestored(host, this.#ready(), this.restored, shards, { signal, report });
            return `Compared every key; ${secondsSince(began)} s in all`;
          },
        },
      ]);
      if (!ran && this.#verification !== undefined) printFailures([this.#verification]);
    } catch (error) {
      const exited: unknown = host.unexpectedExit.reason;
      throw !this.interruption.aborted && exited instanceof Error ? exited : error;
    }
    print("", ...formatComparisons(this.restored, this.#comparisons));
  }

  /** Waits until Ctrl-C. @throws Failure when a server exits */
  async serve(): Promise<void> {
    const host = this.#host;
    if (host === undefined || this.#deployment === undefined) return;
    print("", "The servers run until Ctrl-C. To connect:", ...connectCommand(host, this.#deployment));
    const signal = AbortSignal.any([this.interruption, host.unexpectedExit]);
    if (!signal.aborted) await once(signal, "abort");
    if (!this.interruption.aborted) signal.throwIfAborted();
  }

  async stop(): Promise<void> {
    const host = this.#host;
    if (host !== undefined)
      await runSteps([{ title: "Stop the servers", run: () => host.stop().then(() => undefined) }]);
  }

  #ready(): Deployment {
    if (this.#deployment === undefined) throw new Error("the servers have not been started");
    return this.#deployment;
  }
}

const secondsSince = (began: number): string => ((performance.now() - began) / 1000).toFixed(1);

/**
 * Report of a restore as lines of text: the instant to which each shard was restored, the differences between each
 * server and the archive, and the verdict. Pure.
 */
export function formatComparisons(
  { owner, shards }: Pick<Restore, "owner" | "shards">,
  comparisons: readonly ServerComparison[],
): string[] {
  const times = shards.map(({ point }) => point.at);
  const spread = Math.ceil(Math.max(...times) - Math.min(...times));
  const instantOf = new Map(shards.map(({ name, point }) => [name, formatTime(point.at)]));
  const rows = comparisons.map(({ shard, server, comparison: { keys, expired, differing, libraries } }) => [
    shard,
    instantOf.get(shard) ?? "",
    server,
    formatCount(keys[1]),
    formatCount(expired),
    formatCount(differing + libraries.length),
  ]);
  const first = new Map(comparisons.toReversed().map(({ shard, comparison }) => [shard, comparison]));
  const keys = [...first.values()].reduce((sum, each) => sum + each.keys[0], 0);
  const expired = [...first.values()].reduce((sum, each) => sum + each.expired, 0);
  const left = expired === 0 ? "" : `; ${counted(expired, "key")} that expired since the instant were not compared`;
  const unequal = comparisons.filter(({ comparison }) => !comparison.isEqual);
  const verdict =
    comparisons.length === 0
      ? "FAIL — the servers were not compared, because verification failed"
      : unequal.length === 0
        ? `PASS — ${counted(keys, "key")} of ${counted(shards.length, "shard")}: ` +
          `every key, value and TTL is the same as in the archive${left}`
        : `FAIL — ${unequal.map(({ server }) => server).join(", ")}: not the same data as in the archive`;
  return [
    ...textTable([["SHARD", "INSTANT", "SERVER", "KEYS", "EXPIRED SINCE", "DIFFERENT"], ...rows], "lllrrr"),
    ...(shards.length > 1 ? [`The instants of the shards are within ${spread} ms.`] : []),
    ...unequal.flatMap(differencesOf),
    `RESTORE ${owner.deployment}: ${verdict}.`,
  ];
}

function differencesOf({ server, comparison: { first, differing, libraries } }: ServerComparison): string[] {
  const rest = differing - first.length;
  return [
    ...first.map(
      ({ database, key, kind }) => `  ${server}: database ${database}, key ${JSON.stringify(key.toString())}: ${kind}`,
    ),
    ...(rest > 0 ? [`  ${server}: and ${counted(rest, "more key")}`] : []),
    ...libraries.map((name) => `  ${server}: library of functions ${JSON.stringify(name)} differs`),
  ];
}
