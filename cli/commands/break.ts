/** `npm start -- break`: a stack of this machine, or pods that Pulumi has made, broken on purpose. */
import { totalmem } from "node:os";
import { BadInput, messageOf } from "../../lib/errors";
import type { ScenarioTask } from "../../faults/scenarios/run-scenarios";
import { runScenarios } from "../../faults/scenarios/run-scenarios";
import { availableCores } from "../../platforms/host/cpu";
import { ROOT } from "../../lib/paths";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/results/artifacts";
import { ResultsCollector } from "../../benchmarks/results/collector";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import type { Verification } from "../../valkey/verification/verify";
import { parseConfig } from "../../stacks/config/parse";
import type { PlannedScenarioRun } from "../../stacks/plan/scenario-runs";
import { describeScenarioRuns, planScenarioRuns, plannedScenario } from "../../stacks/plan/scenario-runs";
import type { FaultTarget } from "../fault-targets/fault-targets";
import type { BreakOptions } from "../break-options";
import { print } from "../terminal";
import { STACKS_DIRECTORY } from "../../stacks/config/paths";
import { isPodPlatform } from "../../stacks/plan/pods";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { DEFAULT_FAILURES } from "../../stacks/config/schema/failures";
import { readStackFile } from "../../stacks/config/stack-file";
import { runSteps } from "../steps";
import { didYouMean } from "../../lib/did-you-mean";
import { stopAndWrite, printFailures } from "./run-output";

/**
 * @returns the exit status: 0 when everything asked for was done and all got well again, 1 otherwise
 * @throws BadInput, Failure, Interrupted; servers are stopped by then, faults healed, and what was measured is written
 */
export async function breakStack(stack: string, options: BreakOptions, interruption: AbortSignal): Promise<number> {
  const config = readConfig(stack, options);
  const ground = await groundOf(stack, config, interruption);
  const all = pairingsOf(stack, config, options, ground);
  if (options.plan) {
    print(...describeScenarioRuns(all));
    return 0;
  }
  const possible = all.filter(({ skipReason }) => skipReason === undefined);
  if (possible.length === 0)
    throw new BadInput(
      `stack ${stack}`,
      all.map(
        ({ planned, deployment, skipReason }) => `${planned.scenario.name} on ${deployment}: ${skipReason ?? ""}`,
      ),
    );
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(ROOT, timestamp, options.output, renderReport);
  const collector = new ResultsCollector(artifacts, { timestamp, stack, configuration: config });
  const run = new BreakRun(ground, all, collector, interruption);
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
    await stopAndWrite(
      () => run.stop(),
      collector,
      artifacts,
      reason,
      (results) => {
        printFailures(run.verifications);
        print("", ...formatSummary(results));
        print(
          reason === null
            ? `Report: ${shortPath(artifacts.path("report.html"))}`
            : `What was found until then, marked incomplete: ${shortPath(artifacts.directory)}`,
        );
      },
    );
  }
  return reason === null ? 0 : 1;
}

/** @throws BadInput when the stack, its file or the options are not usable */
function readConfig(stack: string, { overrides }: BreakOptions): StackConfig {
  const machine = { cores: availableCores(), memoryBytes: totalmem() };
  const raw = readStackFile(STACKS_DIRECTORY, stack);
  const named = raw["failures"];
  const scenarios =
    typeof named === "object" && named !== null && !Array.isArray(named) && Object.keys(named).length > 0
      ? (named as Record<string, unknown>)
      : named === undefined
        ? DEFAULT_FAILURES
        : named;
  const changed =
    typeof scenarios === "object" && scenarios !== null
      ? Object.fromEntries(
          Object.entries(scenarios).map(([name, value]) => [
            name,
            typeof value === "object" && value !== null ? { ...(value as object), ...overrides } : (value as unknown),
          ]),
        )
      : scenarios;
  return parseConfig(`stack ${stack}`, { ...raw, failures: changed }, machine);
}

/** Who runs the servers, and what can be done to them there. Pods' needs libraries that this machine's has no use for. */
async function groundOf(stack: string, config: StackConfig, interruption: AbortSignal): Promise<FaultTarget> {
  const { platform } = config;
  if (isPodPlatform(platform)) {
    const { PodFaultTarget } = await import("../fault-targets/pods.js");
    return new PodFaultTarget(platform, config, interruption);
  }
  const { HostFaultTarget } = await import("../fault-targets/host.js");
  return new HostFaultTarget(stack, platform, config, interruption);
}

/** @throws BadInput when a scenario is asked for that there is not */
function pairingsOf(
  stack: string,
  config: StackConfig,
  { scenarios }: BreakOptions,
  ground: FaultTarget,
): PlannedScenarioRun[] {
  const names = Object.keys(config.failures);
  const unknown = (scenarios ?? []).filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new BadInput(
      "--scenario",
      unknown.map(
        (name) => `stack ${stack} has none named ${name};${didYouMean(name, names)} there are: ${names.join(", ")}`,
      ),
    );
  const chosen = Object.entries(config.failures).filter(([name]) => scenarios?.includes(name) ?? true);
  return planScenarioRuns(
    chosen.map(([name, failure]) => plannedScenario(name, failure)),
    ground.plans,
    ground.unmetPrecondition,
  );
}

class BreakRun {
  readonly verifications: Verification[] = [];

  constructor(
    private readonly ground: FaultTarget,
    private readonly all: readonly PlannedScenarioRun[],
    private readonly collector: ResultsCollector,
    private readonly interruption: AbortSignal,
  ) {}

  get passed(): boolean {
    return this.verifications.length > 0 && this.verifications.every(({ verdict }) => verdict.pass);
  }

  /** Why a server is no more that nobody meant to break. */
  get died(): Error | undefined {
    const reason: unknown = this.ground.unexpectedExit?.reason;
    return !this.interruption.aborted && reason instanceof Error ? reason : undefined;
  }

  async carryOut(): Promise<void> {
    for (const { planned, deployment, skipReason } of this.all)
      if (skipReason !== undefined) print(`Not here: ${planned.scenario.name} on ${deployment}: ${skipReason}`);
    const possible = this.all.filter(({ skipReason }) => skipReason === undefined);
    await runSteps([{ title: this.ground.title, run: async () => this.#open(possible) }]);
    if (!this.passed) return;
    await runSteps([
      {
        title: `Break ${[...new Set(possible.map(({ planned }) => planned.scenario.name))].join(", ")}`,
        run: async (report) => this.#break(possible, report),
      },
    ]);
  }

  async stop(): Promise<void> {
    await this.ground.stop();
  }

  async #open(possible: readonly PlannedScenarioRun[]): Promise<string> {
    return this.ground.open(possible, {
      onPrograms: (programs) => {
        this.collector.setPrograms(programs);
      },
      onVerified: (verification, formationMs) => {
        this.verifications.push(verification);
        this.collector.addTopology(verification, formationMs);
      },
    });
  }

  async #break(
    possible: readonly PlannedScenarioRun[],
    report: (line: string, passing?: boolean) => void,
  ): Promise<string> {
    const tasks = possible.map(({ planned: { scenario, repeats }, deployment }): ScenarioTask => {
      const sufferer = this.ground.subject(deployment);
      if (sufferer === undefined) throw new Error(`nobody opened ${deployment}`);
      return { scenario, repeats, subject: sufferer };
    });
    const { unexpectedExit } = this.ground;
    const signal = AbortSignal.any([this.interruption, ...(unexpectedExit === undefined ? [] : [unexpectedExit])]);
    await runScenarios(tasks, {
      signal,
      report,
      onResult: ({ record, lost }) => {
        this.collector.addFailure(
          record,
          lost.map(
            ({ key, number, found }) => `${key} ${number}: ${typeof found === "number" ? `holds ${found}` : found}`,
          ),
        );
      },
    });
    return `Broke on purpose ${tasks.reduce((sum, { repeats }) => sum + repeats, 0)} times`;
  }
}
