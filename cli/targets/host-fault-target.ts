import type { FaultSubject } from "../../faults/scenarios/scenario-run";
import { HostFaultInjector } from "../../faults/injectors/host-injector";
import { unmetHostPrecondition } from "../../faults/injectors/preconditions";
import type { Host } from "../../platforms/host/host";
import type { HostDeploymentPlan } from "../../platforms/host/deployment-plan";
import { verify } from "../../valkey/verification/verify";
import type { FaultTarget, FaultTargetListener } from "./fault-targets";
import type { PlannedScenarioRun } from "../../stacks/plan/scenario-runs";
import { hostPlans } from "../../stacks/plan/benchmark-plans";
import type { HostConfig } from "../../stacks/config/schema/platform";
import type { StackConfig } from "../../stacks/config/schema/stack";
import { type LocalServers, findServerPrograms } from "../running/local-servers";

/** Bytes. The disk is in memory, so it is just large enough for the writes. */
const DISK_BYTES = 256 * 1024 ** 2;

export class HostFaultTarget implements FaultTarget {
  readonly title = "Start and form";
  readonly unmetPrecondition = unmetHostPrecondition;
  readonly plans: readonly (HostDeploymentPlan & { readonly machines: "one" })[];
  readonly #subjects = new Map<string, FaultSubject>();
  readonly stop: () => Promise<void>;

  constructor(
    private readonly stack: string,
    platform: HostConfig,
    config: StackConfig,
    private readonly servers: LocalServers,
  ) {
    this.stop = servers.stop;
    this.plans = hostPlans(platform, config).map((plan) => ({ ...plan, machines: "one" }));
  }

  readonly subject = (deployment: string): FaultSubject | undefined => this.#subjects.get(deployment);

  readonly open = async (possible: readonly PlannedScenarioRun[], opened: FaultTargetListener): Promise<string> => {
    const programs = await findServerPrograms(this.servers.signal);
    opened.onPrograms(programs);
    const host = this.servers.create(this.stack, programs);
    const { signal } = this.servers;
    const plans = this.plans.filter(({ name }) => possible.some(({ deployment }) => deployment === name));
    await Promise.all(plans.map((plan) => this.#startOne(host, fittedPlan(plan, possible), signal, opened)));
    return `Started, formed and verified ${plans.map(({ name }) => name).join(" and ")} with Valkey ${programs.version} from ${programs.source}`;
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

/** With an address for each zone to partition zones, and a small disk to fill it. */
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
