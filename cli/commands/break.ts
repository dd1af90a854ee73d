import { BadInput } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";
import { type ScenarioTask, runScenarios } from "../../faults/scenarios/run-scenario";
import type { ResultsCollector } from "../../benchmarks/run/collector";
import { formatSummary } from "../../benchmarks/results/formats/summary";
import type { Verification } from "../../valkey/verification/verify";
import type { PlannedScenarioRun } from "../../stacks/plan/scenario-runs";
import { describeScenarioRuns, planScenarioRuns, plannedScenario } from "../../stacks/plan/scenario-runs";
import type { FaultTarget } from "../targets/fault-targets";
import { type OptionValues, givenValues, textOption } from "../running/options";
import { LocalServers } from "../running/local-servers";
import { type ResultsRun, havePassed, runWithResults } from "../running/run-to-end";
import { readStack } from "../running/stack-config";
import { print } from "../terminal/terminal";
import { isPodPlatform } from "../../stacks/plan/pod-settings";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { DEFAULT_SCENARIOS } from "../../stacks/config/schema/failures";
import { runSteps } from "../terminal/steps";
import { isMap } from "../../lib/schema/json-schema";
import { didYouMean } from "../../lib/did-you-mean";

export async function breakStack(stack: string, values: OptionValues, interruption: AbortSignal): Promise<number> {
  if (values["plan"] === true && values["output"] !== undefined)
    throw BadInput.of("break", "not-with-plan", " does not apply with --plan, which writes no results", "--output");
  const config = readConfig(stack, givenValues(values, ["repeats", "rate"]));
  const servers = new LocalServers(interruption);
  const target = await openFaultTarget(stack, config, servers);
  const all = plannedRuns(stack, config, values["scenario"], target);
  if (values["plan"] === true) {
    print(...describeScenarioRuns(all));
    return 0;
  }
  const possible = all.filter(({ skipReason }) => skipReason === undefined);
  const skipped = all.flatMap(({ planned, deployment, skipReason }) =>
    skipReason === undefined ? [] : [`${planned.scenario.name} on ${deployment}: ${skipReason}`],
  );
  if (possible.length === 0) throw BadInput.of(`stack ${stack}`, "no-possible-scenario", skipped);
  return runWithResults(
    { stack, configuration: config, output: textOption(values["output"]) },
    servers.causeOf,
    (collector) => {
      print(...skipped.map((why) => `Skipped: ${why}`));
      return breakRun(target, possible, collector, servers);
    },
    "no fault was injected",
    formatSummary,
  );
}

function readConfig(stack: string, overrides: OptionValues): StackConfig {
  const withOptions = (value: unknown): unknown => (isMap(value) ? { ...value, ...overrides } : value);
  return readStack(stack, (raw) => {
    const scenarios = raw["failures"] ?? DEFAULT_SCENARIOS;
    const failures = isMap(scenarios)
      ? Object.fromEntries(Object.entries(scenarios).map(([name, value]) => [name, withOptions(value)]))
      : scenarios;
    return { ...raw, failures };
  });
}

/** Libraries for pods are loaded only if the servers are pods. */
async function openFaultTarget(stack: string, config: StackConfig, servers: LocalServers): Promise<FaultTarget> {
  const { platform } = config;
  if (isPodPlatform(platform)) {
    const { PodFaultTarget } = await import("../targets/pod-fault-target.js");
    return new PodFaultTarget(platform, config, servers.signal);
  }
  const { HostFaultTarget } = await import("../targets/host-fault-target.js");
  return new HostFaultTarget(stack, platform, config, servers);
}

function plannedRuns(
  stack: string,
  { failures }: StackConfig,
  wanted: unknown,
  { plans, unmetPrecondition }: FaultTarget,
): PlannedScenarioRun[] {
  const names = Object.keys(failures);
  const scenarios = Array.isArray(wanted) ? wanted.map(String) : names;
  const unknown = scenarios.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw BadInput.of(
      "--scenario",
      "no-such-scenario",
      unknown.map(
        (name) => `stack ${stack} has no scenario ${name};${didYouMean(name, names)} Scenarios: ${names.join(", ")}`,
      ),
    );
  const chosen = Object.entries(failures).filter(([name]) => scenarios.includes(name));
  const planned = chosen.map(([name, failure]) => plannedScenario(name, failure));
  return planScenarioRuns(planned, plans, unmetPrecondition);
}

function breakRun(
  target: FaultTarget,
  possible: readonly PlannedScenarioRun[],
  collector: ResultsCollector,
  servers: LocalServers,
): ResultsRun {
  const verifications: Verification[] = [];
  const open = (): Promise<string> =>
    target.open(possible, {
      onPrograms: (programs) => {
        collector.setPrograms(programs);
      },
      onVerified: (verification, formationMs) => {
        verifications.push(verification);
        collector.addTopology(verification, formationMs);
      },
    });
  const inject = async (report: ReportProgress): Promise<string> => {
    const tasks = possible.map(({ planned: { scenario, repeats }, deployment }): ScenarioTask => {
      const subject = target.subject(deployment);
      if (subject === undefined) throw new Error(`${deployment} is not open`);
      return { scenario, repeats, subject };
    });
    await runScenarios(tasks, {
      signal: servers.signal,
      report,
      onResult: ({ record, lost }) => {
        const held = (found: (typeof lost)[number]["found"]): string =>
          typeof found === "number" ? `holds write ${found}` : found;
        collector.addFailure(
          record,
          lost.map(({ key, number, found }) => `${key} ${number}: ${held(found)}`),
        );
      },
    });
    return `Injected ${tasks.reduce((sum, { repeats }) => sum + repeats, 0)} faults`;
  };
  const names = [...new Set(possible.map(({ planned }) => planned.scenario.name))].join(", ");
  return {
    verifications,
    execute: async () => {
      await runSteps([{ title: target.title, run: open }]);
      if (havePassed(verifications)) await runSteps([{ title: `Run scenarios ${names}`, run: inject }]);
    },
    stop: target.stop,
  };
}
