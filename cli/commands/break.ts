/** `npm start -- break`: runs fault scenarios of a stack, on this machine or in pods that Pulumi has created. */
import { totalmem } from "node:os";
import { compact } from "../../lib/compact";
import { BadInput, messageOf } from "../../lib/errors";
import type { ScenarioTask } from "../../faults/scenarios/run-scenarios";
import { runScenarios } from "../../faults/scenarios/run-scenarios";
import { availableCores } from "../../platforms/host/cpu";
import { renderReport } from "../../benchmarks/report/page";
import { Artifacts, shortPath, timestampOf } from "../../benchmarks/run/artifacts";
import { ResultsCollector } from "../../benchmarks/run/collector";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import type { Verification } from "../../valkey/verification/verify";
import { parseConfig } from "../../stacks/config/parse";
import type { PlannedScenarioRun } from "../../stacks/plan/scenario-runs";
import { describeScenarioRuns, planScenarioRuns, plannedScenario } from "../../stacks/plan/scenario-runs";
import type { FaultTarget } from "../targets/fault-targets";
import type { BreakOptions } from "../options/break-options";
import { print } from "../terminal/terminal";
import { STACKS_DIRECTORY } from "../../stacks/config/sections/paths";
import { isPodPlatform } from "../../stacks/plan/pod-settings";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { DEFAULT_SCENARIOS } from "../../stacks/config/schema/failures";
import { readStackFile } from "../../stacks/config/sections/stack-file";
import { runSteps } from "../terminal/steps";
import { isMap } from "../../lib/schema/json-schema";
import { didYouMean } from "../../lib/did-you-mean";
import { stopAndWrite, printFailures } from "./run-output";

/**
 * Runs fault scenarios.
 * @returns 0 when every scenario ran, 1 when verification failed
 * @throws BadInput, Failure, Interrupted. Before it throws, it heals faults, stops servers and writes partial results
 */
export async function breakStack(stack: string, options: BreakOptions, interruption: AbortSignal): Promise<number> {
  const config = readConfig(stack, options);
  const faultTarget = await openFaultTarget(stack, config, interruption);
  const all = plannedRuns(stack, config, options, faultTarget);
  if (options.plan) {
    print(...describeScenarioRuns(all));
    return 0;
  }
  const possible = all.filter(({ skipReason }) => skipReason === undefined);
  if (possible.length === 0)
    throw BadInput.of(
      `stack ${stack}`,
      "no-possible-scenario",
      all.map(
        ({ planned, deployment, skipReason }) => `${planned.scenario.name} on ${deployment}: ${skipReason ?? ""}`,
      ),
    );
  const timestamp = timestampOf(new Date());
  const artifacts = Artifacts.open(process.cwd(), timestamp, options.output, renderReport);
  const collector = new ResultsCollector(artifacts, { timestamp, stack, configuration: config });
  const run = new BreakRun(faultTarget, all, collector, interruption);
  let reason: string | null = null;
  try {
    await run.execute();
    if (!run.passed) reason = "verification failed; no fault was injected";
  } catch (error) {
    // After an interruption, the interruption is reported. The error of the interrupted scenario is only its
    // consequence.
    const cause = run.serverFailure ?? (interruption.aborted ? (interruption.reason as unknown) : error);
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
            : `Partial results (marked incomplete): ${shortPath(artifacts.directory)}`,
        );
      },
    );
  }
  return reason === null ? 0 : 1;
}

/** Reads the configuration of a stack. @throws BadInput when the stack, its file or the options cannot be used */
function readConfig(stack: string, { overrides }: BreakOptions): StackConfig {
  const machine = { cores: availableCores(), memoryBytes: totalmem() };
  const raw = readStackFile(STACKS_DIRECTORY, stack);
  const scenarios = raw["failures"] ?? DEFAULT_SCENARIOS;
  const withOptions = (value: unknown): unknown => (isMap(value) ? { ...value, ...overrides } : value);
  const failures = isMap(scenarios)
    ? Object.fromEntries(Object.entries(scenarios).map(([name, value]) => [name, withOptions(value)]))
    : scenarios;
  return parseConfig(`stack ${stack}`, { ...raw, failures }, machine);
}

/** The fault target for the stack's platform. Libraries for pods are loaded only if the servers are pods. */
async function openFaultTarget(stack: string, config: StackConfig, interruption: AbortSignal): Promise<FaultTarget> {
  const { platform } = config;
  if (isPodPlatform(platform)) {
    const { PodFaultTarget } = await import("../targets/pod-fault-target.js");
    return new PodFaultTarget(platform, config, interruption);
  }
  const { HostFaultTarget } = await import("../targets/host-fault-target.js");
  return new HostFaultTarget(stack, platform, config, interruption);
}

/** The planned scenarios. @throws BadInput when an option names an unknown scenario */
function plannedRuns(
  stack: string,
  config: StackConfig,
  { scenarios }: BreakOptions,
  faultTarget: FaultTarget,
): PlannedScenarioRun[] {
  const names = Object.keys(config.failures);
  const unknown = (scenarios ?? []).filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw BadInput.of(
      "--scenario",
      "no-such-scenario",
      unknown.map(
        (name) => `stack ${stack} has no scenario ${name};${didYouMean(name, names)} Scenarios: ${names.join(", ")}`,
      ),
    );
  const chosen = Object.entries(config.failures).filter(([name]) => scenarios?.includes(name) ?? true);
  return planScenarioRuns(
    chosen.map(([name, failure]) => plannedScenario(name, failure)),
    faultTarget.plans,
    faultTarget.unmetPrecondition,
  );
}

class BreakRun {
  readonly verifications: Verification[] = [];

  constructor(
    private readonly faultTarget: FaultTarget,
    private readonly all: readonly PlannedScenarioRun[],
    private readonly collector: ResultsCollector,
    private readonly interruption: AbortSignal,
  ) {}

  get passed(): boolean {
    return this.verifications.length > 0 && this.verifications.every(({ verdict }) => verdict.pass);
  }

  /** Error of a server that exited although no fault stopped it. */
  get serverFailure(): Error | undefined {
    const reason: unknown = this.faultTarget.unexpectedExit?.reason;
    return !this.interruption.aborted && reason instanceof Error ? reason : undefined;
  }

  async execute(): Promise<void> {
    for (const { planned, deployment, skipReason } of this.all)
      if (skipReason !== undefined) print(`Skipped: ${planned.scenario.name} on ${deployment}: ${skipReason}`);
    const possible = this.all.filter(({ skipReason }) => skipReason === undefined);
    await runSteps([{ title: this.faultTarget.title, run: async () => this.#open(possible) }]);
    if (!this.passed) return;
    await runSteps([
      {
        title: `Run scenarios ${[...new Set(possible.map(({ planned }) => planned.scenario.name))].join(", ")}`,
        run: async (report) => this.#break(possible, report),
      },
    ]);
  }

  async stop(): Promise<void> {
    await this.faultTarget.stop();
  }

  async #open(possible: readonly PlannedScenarioRun[]): Promise<string> {
    return this.faultTarget.open(possible, {
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
      const subject = this.faultTarget.subject(deployment);
      if (subject === undefined) throw new Error(`${deployment} is not open`);
      return { scenario, repeats, subject };
    });
    const { unexpectedExit } = this.faultTarget;
    const signal = AbortSignal.any(compact([this.interruption, unexpectedExit]));
    await runScenarios(tasks, {
      signal,
      report,
      onResult: ({ record, lost }) => {
        this.collector.addFailure(
          record,
          lost.map(
            ({ key, number, found }) =>
              `${key} ${number}: ${typeof found === "number" ? `holds write ${found}` : found}`,
          ),
        );
      },
    });
    return `Injected ${tasks.reduce((sum, { repeats }) => sum + repeats, 0)} faults`;
  }
}
