/** `npm start -- break`: a stack of the platform `host`, broken on purpose. */
import { totalmem } from "node:os";
import { BadInput, messageOf } from "../../benchmarks/errors";
import type { Deployment } from "../../benchmarks/deployment";
import type { Sufferer, Task } from "../../benchmarks/failure/break-all";
import { breakAll } from "../../benchmarks/failure/break-all";
import { HostBreaker, hostObstacle } from "../../benchmarks/failure/host-breaker";
import { Host } from "../../benchmarks/host/host";
import type { HostPlan } from "../../benchmarks/host/host";
import { findPrograms } from "../../benchmarks/host/programs";
import { RunDirectory, stopAbandonedRuns } from "../../benchmarks/host/run-directory";
import { availableCores } from "../../benchmarks/measuring/cpu";
import { allRunsDirectories, packagesDirectory, ROOT, runsDirectory } from "../../benchmarks/paths";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/results/artifacts";
import { ResultsCollector } from "../../benchmarks/results/collector";
import { formatSummary } from "../../benchmarks/results/summary";
import type { Verification } from "../../benchmarks/verification/verify";
import { verify } from "../../benchmarks/verification/verify";
import { parseConfig } from "../config";
import type { Pairing } from "../failure-plans";
import { describePairings, pairings, scenarioOf } from "../failure-plans";
import type { BreakOptions } from "../options";
import { print } from "../output";
import { STACKS } from "../paths";
import { hostPlans } from "../plans";
import type { HostStackConfig } from "../schema";
import { DEFAULT_FAILURES } from "../schema-failures";
import { readStackFile } from "../stack-file";
import { runSteps } from "../steps";
import { didYouMean } from "../problems";
import { printFailures } from "./measuring";

/** A disk that a scenario fills, bytes: room for what a scenario writes and no more, for it is memory. */
const DISK_BYTES = 256 * 1024 ** 2;

/**
 * @returns the exit status: 0 when everything asked for was done and all got well again, 1 otherwise
 * @throws BadInput, Failure, Interrupted; servers are stopped by then, faults healed, and what was measured is written
 */
export async function breakStack(stack: string, options: BreakOptions, interruption: AbortSignal): Promise<number> {
  const config = readConfig(stack, options);
  const all = pairingsOf(stack, config, options);
  if (options.plan) {
    print(...describePairings(all));
    return 0;
  }
  const possible = all.filter(({ why }) => why === undefined);
  if (possible.length === 0) throw new BadInput(`stack ${stack}`, all.map(({ planned, deployment, why }) => `${planned.scenario.name} on ${deployment}: ${why ?? ""}`));
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(ROOT, timestamp, options.output, renderReport);
  const collector = new ResultsCollector(artifacts, { timestamp, stack, configuration: config });
  const run = new BreakRun(stack, config, all, collector, interruption);
  let reason: string | null = null;
  try {
    await run.carryOut();
    if (!run.passed) reason = "verification failed; nothing was broken";
  } catch (error) {
    // What was under way when told to stop says only that it was stopped.
    const cause = run.died ?? (interruption.aborted ? (interruption.reason as unknown) : error);
    reason = messageOf(cause);
    throw cause;
  } finally {
    await run.stop();
    if (collector.isEmpty) artifacts.discardIfEmpty();
    else {
      const results = collector.finish(reason);
      printFailures(run.verifications);
      print("", ...formatSummary(results));
      print(reason === null ? `Report: ${shortPath(artifacts.path("report.html"))}` : `What was found until then, marked incomplete: ${shortPath(artifacts.directory)}`);
    }
  }
  return reason === null ? 0 : 1;
}

/** @throws BadInput when the stack, its file or the options are not usable */
function readConfig(stack: string, { overrides }: BreakOptions): HostStackConfig {
  const machine = { cores: availableCores(), memoryBytes: totalmem() };
  const raw = readStackFile(STACKS, stack);
  const named = raw["failures"];
  const scenarios = typeof named === "object" && named !== null && !Array.isArray(named) && Object.keys(named).length > 0 ? (named as Record<string, unknown>) : named === undefined ? DEFAULT_FAILURES : named;
  const changed = typeof scenarios === "object" && scenarios !== null ? Object.fromEntries(Object.entries(scenarios).map(([name, value]) => [name, typeof value === "object" && value !== null ? { ...(value as object), ...overrides } : (value as unknown)])) : scenarios;
  const parsed = parseConfig(`stack ${stack}`, { ...raw, failures: changed }, machine);
  const { platform } = parsed;
  if (platform.type !== "host") throw new BadInput(`stack ${stack}`, [`its platform is ${platform.type}; break works on stacks of the platform host`]);
  return { ...parsed, platform };
}

/** @throws BadInput when a scenario is asked for that there is not */
function pairingsOf(stack: string, config: HostStackConfig, { scenarios }: BreakOptions): Pairing[] {
  const names = Object.keys(config.failures);
  const unknown = (scenarios ?? []).filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new BadInput("--scenario", unknown.map((name) => `stack ${stack} has none named ${name};${didYouMean(name, names)} there are: ${names.join(", ")}`));
  const chosen = Object.entries(config.failures).filter(([name]) => scenarios?.includes(name) ?? true);
  return pairings(chosen.map(([name, failure]) => scenarioOf(name, failure)), hostPlans(config.platform, config), hostObstacle);
}

class BreakRun {
  readonly verifications: Verification[] = [];
  readonly #sufferers = new Map<string, Sufferer>();
  #host: Host | undefined;

  constructor(
    private readonly stack: string,
    private readonly config: HostStackConfig,
    private readonly all: readonly Pairing[],
    private readonly collector: ResultsCollector,
    private readonly interruption: AbortSignal,
  ) {}

  get passed(): boolean {
    return this.verifications.length > 0 && this.verifications.every(({ verdict }) => verdict.pass);
  }

  /** Why a server is no more that nobody meant to break. */
  get died(): Error | undefined {
    const reason: unknown = this.#host?.died.reason;
    return !this.interruption.aborted && reason instanceof Error ? reason : undefined;
  }

  async carryOut(): Promise<void> {
    for (const { planned, deployment, why } of this.all) if (why !== undefined) print(`Not here: ${planned.scenario.name} on ${deployment}: ${why}`);
    const possible = this.all.filter(({ why }) => why === undefined);
    await runSteps([
      { title: "Start and form", run: async () => this.#start(possible) },
    ]);
    if (!this.passed) return;
    await runSteps([{ title: `Break ${[...new Set(possible.map(({ planned }) => planned.scenario.name))].join(", ")}`, run: async (report) => this.#break(possible, report) }]);
  }

  async stop(): Promise<void> {
    const host = this.#host;
    if (host !== undefined) await runSteps([{ title: "Stop the servers", run: () => host.stop().then(() => undefined) }]);
  }

  async #start(possible: readonly Pairing[]): Promise<string> {
    await stopAbandonedRuns(...allRunsDirectories());
    const programs = await findPrograms(packagesDirectory(), () => undefined, this.interruption);
    this.collector.setPrograms(programs);
    const host = new Host(RunDirectory.create(runsDirectory(), this.stack), programs);
    this.#host = host;
    const signal = AbortSignal.any([this.interruption, host.died]);
    const plans = hostPlans(this.config.platform, this.config).filter(({ name }) => possible.some(({ deployment }) => deployment === name));
    await Promise.all(plans.map((plan) => this.#startOne(host, fittedPlan(plan, possible), signal)));
    return `Started, formed and verified ${plans.map(({ name }) => name).join(" and ")} with Valkey ${programs.version} from ${programs.source}`;
  }

  async #startOne(host: Host, plan: HostPlan, signal: AbortSignal): Promise<void> {
    const deployment: Deployment = await host.start(plan, signal);
    const { milliseconds } = await host.form(deployment, plan.shape, { signal });
    const verification = await verify(deployment);
    this.verifications.push(verification);
    this.collector.addTopology(verification, milliseconds);
    const primaries = verification.verdict.shards.flatMap(({ primary }) => primary ?? []);
    this.#sufferers.set(plan.name, { breaker: new HostBreaker(host, deployment, signal), shape: plan.shape, failsOver: plan.mode === "cluster", primaries });
  }

  async #break(possible: readonly Pairing[], report: (line: string, passing?: boolean) => void): Promise<string> {
    const tasks = possible.flatMap(({ planned: { scenario, repeats }, deployment }): Task[] => {
      const sufferer = this.#sufferers.get(deployment);
      return sufferer === undefined ? [] : [{ scenario, repeats, sufferer }];
    });
    const signal = AbortSignal.any([this.interruption, ...(this.#host === undefined ? [] : [this.#host.died])]);
    await breakAll(tasks, {
      signal,
      report,
      emit: ({ record, lost }) => {
        this.collector.addFailure(record, lost.map(({ key, number, found }) => `${key} ${number}: ${typeof found === "number" ? `holds ${found}` : found}`));
      },
    });
    return `Broke on purpose ${tasks.reduce((sum, { repeats }) => sum + repeats, 0)} times`;
  }
}

/** With what its scenarios need: addresses by zone for cuts, a small disk to be filled. */
function fittedPlan(plan: HostPlan, possible: readonly Pairing[]): HostPlan {
  const faults = possible.filter(({ deployment }) => deployment === plan.name).map(({ planned }) => planned.scenario.fault.kind);
  return { ...plan, zoneAddresses: faults.includes("cut-zone"), diskBytes: faults.includes("full-disk") ? DISK_BYTES : undefined };
}
