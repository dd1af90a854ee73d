/** The fault target on this machine. It starts servers for the scenarios. */
import type { FaultSubject } from "../../faults/scenarios/scenario-run";
import { HostFaultInjector } from "../../faults/injectors/host-injector";
import { unmetHostPrecondition } from "../../faults/injectors/preconditions";
import { Host } from "../../platforms/host/host";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { findPrograms } from "../../platforms/host/programs/programs";
import { RunDirectory, stopAbandonedRuns } from "../../platforms/host/run-directory";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/system/paths";
import { verify } from "../../valkey/verification/verify";
import type { FaultTarget, FaultTargetListener } from "./fault-targets";
import type { PlannedScenarioRun } from "../../stacks/plan/scenario-runs";
import { hostPlans } from "../../stacks/plan/benchmark-plans";
import type { HostConfig } from "../../stacks/config/schema/platform";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { runSteps } from "../terminal/steps";

/**
 * Size of a disk that a scenario fills, bytes. The disk is in memory, so it is just large enough for the scenario's
 * writes.
 */
const DISK_BYTES = 256 * 1024 ** 2;

/** Fault target whose deployments are processes on this machine, started for the scenarios. */
export class HostFaultTarget implements FaultTarget {
  readonly title = "Start and form";
  readonly unmetPrecondition = unmetHostPrecondition;
  readonly plans: readonly (HostDeploymentPlan & { readonly machines: "one" })[];
  readonly #subjects = new Map<string, FaultSubject>();
  #host: Host | undefined;

  constructor(
    private readonly stack: string,
    platform: HostConfig,
    config: StackConfig,
    private readonly interruption: AbortSignal,
  ) {
    this.plans = hostPlans(platform, config).map((plan) => ({ ...plan, machines: "one" }));
  }

  get unexpectedExit(): AbortSignal | undefined {
    return this.#host?.unexpectedExit;
  }

  readonly subject = (deployment: string): FaultSubject | undefined => this.#subjects.get(deployment);

  readonly open = async (possible: readonly PlannedScenarioRun[], opened: FaultTargetListener): Promise<string> => {
    await stopAbandonedRuns(...allRunsDirectories());
    const programs = await findPrograms(packagesDirectory(), () => undefined, this.interruption);
    opened.onPrograms(programs);
    const host = new Host(RunDirectory.create(runsDirectory(), this.stack), programs);
    this.#host = host;
    const signal = AbortSignal.any([this.interruption, host.unexpectedExit]);
    const plans = this.plans.filter(({ name }) => possible.some(({ deployment }) => deployment === name));
    await Promise.all(plans.map((plan) => this.#startOne(host, fittedPlan(plan, possible), signal, opened)));
    return `Started, formed and verified ${plans.map(({ name }) => name).join(" and ")} with Valkey ${programs.version} from ${programs.source}`;
  };

  readonly stop = async (): Promise<void> => {
    const host = this.#host;
    if (host !== undefined)
      await runSteps([{ title: "Stop the servers", run: () => host.stop().then(() => undefined) }]);
  };

  async #startOne(
    host: Host,
    plan: HostDeploymentPlan,
    signal: AbortSignal,
    opened: FaultTargetListener,
  ): Promise<void> {
    const deployment = await host.start(plan, signal);
    const { milliseconds } = await host.form(deployment, plan.shape, { signal });
    const verification = await verify(deployment);
    opened.onVerified(verification, milliseconds);
    const primaries = verification.verdict.shards.flatMap(({ primary }) => primary ?? []);
    this.#subjects.set(plan.name, {
      injector: new HostFaultInjector(host, deployment, signal),
      shape: plan.shape,
      hasAutomaticFailover: plan.mode === "cluster" || plan.sentinel !== undefined,
      initialPrimaries: primaries,
    });
  }
}

/**
 * Adapts a plan to its scenarios: with an address for each zone if a scenario partitions zones, and with a small disk
 * if a scenario fills a disk.
 */
function fittedPlan(plan: HostDeploymentPlan, possible: readonly PlannedScenarioRun[]): HostDeploymentPlan {
  const faults = possible
    .filter(({ deployment }) => deployment === plan.name)
    .map(({ planned }) => planned.scenario.fault.kind);
  return {
    ...plan,
    zoneAddresses: faults.includes("cut-zone"),
    diskBytes: faults.includes("full-disk") ? DISK_BYTES : undefined,
  };
}
