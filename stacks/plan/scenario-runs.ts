import { formatCount } from "../../lib/units";
import { type Fault, describeFault, planFault } from "../../faults/plan/fault";
import type { Scenario } from "../../faults/plan/scenario";
import { type DeploymentOutline, describeFaultPlan } from "../../faults/plan/fault-plan";
import type { PreconditionCheck } from "../../faults/injectors/preconditions";
import { unmetHostPrecondition, unmetPodPrecondition } from "../../faults/injectors/preconditions";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { placeSentinels } from "../../valkey/sentinel-config";
import { toDirectives } from "../../valkey/settings/settings";
import { planCluster } from "../../valkey/topology/cluster-plan";
import { nodeCount, rotateOverZones, spreadOverZones } from "../../valkey/topology/placement";
import { hostPlans, configuredSentinels, configuredShape } from "./benchmark-plans";
import { type PodPlatform, deploymentZones, isPodPlatform } from "./pod-settings";
import type { StackConfig } from "../config/schema/stack";
import type { ScenarioConfig } from "../config/schema/failures";

const WAIT_MS = 1000;

export type SubjectPlan = Pick<HostDeploymentPlan, "name" | "mode" | "shape" | "settings" | "zones" | "sentinel"> & {
  /** Number of machines: `one` if all nodes run on this machine, `several` if nodes are pods on several machines. */
  readonly machines: "one" | "several";
};

export function podSubjectPlans(
  platform: PodPlatform,
  { deployments }: Pick<StackConfig, "deployments">,
): SubjectPlan[] {
  return Object.entries(deployments)
    .filter(([, { engine }]) => engine === "valkey")
    .map(([name, deployment]) => ({
      name,
      mode: deployment.mode,
      shape: configuredShape(deployment),
      settings: deployment.settings,
      zones: deploymentZones(platform, deployment),
      machines: "several",
      sentinel: configuredSentinels(deployment),
    }));
}

/** With the reason if the platform or this user's rights do not allow a scenario. */
export function planScenarios(
  config: Pick<StackConfig, "platform" | "deployments" | "failures">,
): PlannedScenarioRun[] {
  const { platform } = config;
  const scenarios = Object.entries(config.failures).map(([name, failure]) => plannedScenario(name, failure));
  if (isPodPlatform(platform))
    return planScenarioRuns(scenarios, podSubjectPlans(platform, config), unmetPodPrecondition);
  return planScenarioRuns(
    scenarios,
    hostPlans(platform, config).map((plan): SubjectPlan => ({ ...plan, machines: "one" })),
    unmetHostPrecondition,
  );
}

interface PlannedScenario {
  readonly scenario: Scenario;
  readonly repeats: number;
  readonly deployments: readonly string[] | undefined;
}

export function plannedScenario(name: string, config: ScenarioConfig): PlannedScenario {
  const {
    rate,
    dataSize,
    writeTimeoutMs,
    waitFor,
    settings,
    before,
    after,
    recoveryTimeout,
    repair,
    repeats,
    deployments,
    fault,
    ...options
  } = config;
  return {
    repeats,
    deployments,
    scenario: {
      name,
      fault: { kind: fault, ...options } as Fault,
      load: {
        rate,
        bytes: dataSize,
        timeoutMs: writeTimeoutMs,
        acknowledgement: { replicas: waitFor, timeoutMs: waitFor === 0 ? 0 : WAIT_MS },
      },
      settings: toDirectives(settings),
      beforeSeconds: before,
      afterSeconds: after,
      recoveryTimeoutSeconds: recoveryTimeout,
      repair,
    },
  };
}

export interface PlannedScenarioRun {
  readonly planned: PlannedScenario;
  readonly deployment: string;
  readonly skipReason: string | undefined;
  readonly lines: readonly string[];
}

export function planScenarioRuns(
  scenarios: readonly PlannedScenario[],
  plans: readonly SubjectPlan[],
  obstacle: PreconditionCheck,
): PlannedScenarioRun[] {
  return scenarios.flatMap((planned) =>
    plans
      .filter(({ name }) => planned.deployments?.includes(name) ?? true)
      .map((plan): PlannedScenarioRun => {
        const { fault, settings } = planned.scenario;
        const result = planFault(fault, subjectOf(plan, settings));
        const why =
          obstacle(planned.scenario, toDirectives(plan.settings)) ?? (typeof result === "string" ? result : undefined);
        return {
          planned,
          deployment: plan.name,
          skipReason: why,
          lines: why !== undefined || typeof result === "string" ? [] : describeFaultPlan(result),
        };
      }),
  );
}

function subjectOf(plan: SubjectPlan, settings: ReadonlyMap<string, string>): DeploymentOutline {
  const { mode, shape, zones } = plan;
  const names = Array.from({ length: nodeCount(shape) }, (_, index) => `${plan.name}-${index}`);
  const placed = mode === "cluster" ? rotateOverZones(names, shape, zones) : spreadOverZones(names, zones);
  const wanted = new Map([...toDirectives(plan.settings), ...settings]);
  return {
    mode,
    shape,
    shards:
      mode === "cluster" ? planCluster(placed, shape).shards : [{ primary: names[0] ?? "", replicas: names.slice(1) }],
    zoneOf: new Map(placed.map(({ name, zone }) => [name, zone])),
    // The scheduler decides the machine of a pod later, so the machine has no name yet.
    machineOf: new Map(
      names.map((name) => [name, plan.machines === "one" ? "this machine" : `the machine of ${name}`]),
    ),
    sentinelZoneOf: new Map(
      (plan.sentinel === undefined ? [] : placeSentinels(plan.name, plan.sentinel, zones)).map(({ name, zone }) => [
        name,
        zone,
      ]),
    ),
    hasAutomaticFailover:
      mode === "cluster" ? wanted.get("cluster-replica-no-failover") !== "yes" : plan.sentinel !== undefined,
    persistent: wanted.get("appendonly") === "yes",
    rediscoversPeers: plan.machines === "several",
  };
}

export function describeScenarioRuns(all: readonly PlannedScenarioRun[]): string[] {
  return all.flatMap(({ planned: { scenario, repeats }, deployment, skipReason, lines }) => {
    const times = repeats > 1 ? `, ${repeats} times` : "";
    const skipped = skipReason === undefined ? "" : `: skipped: ${skipReason}`;
    const head = `${scenario.name} on ${deployment}: ${describeFault(scenario.fault)}${times}${skipped}`;
    return [head, ...[...lines, `load: ${formatCount(scenario.load.rate)} writes/s`].map((line) => `  ${line}`)];
  });
}
