/** Servers on this machine, started to be broken. */
import type { Sufferer } from "../../faults/break-all";
import { HostBreaker } from "../../faults/host-breaker";
import { hostObstacle } from "../../faults/obstacles";
import { Host } from "../../platforms/host/host";
import type { HostPlan } from "../../platforms/host/host";
import { findPrograms } from "../../platforms/host/programs";
import { RunDirectory, stopAbandonedRuns } from "../../platforms/host/run-directory";
import { allRunsDirectories, packagesDirectory, runsDirectory } from "../../lib/paths";
import { verify } from "../../valkey/verification/verify";
import type { Ground, Opened } from "./fault-targets";
import type { Pairing } from "../../stacks/plan/failure-plans";
import { hostPlans } from "../../stacks/plan/plans";
import type { HostConfig, StackConfig } from "../../stacks/config/schema/stack";
import { runSteps } from "../steps";

/** A disk that a scenario fills, bytes: room for what a scenario writes and no more, for it is memory. */
const DISK_BYTES = 256 * 1024 ** 2;

export class HostGround implements Ground {
  readonly title = "Start and form";
  readonly obstacle = hostObstacle;
  readonly plans: readonly (HostPlan & { readonly machines: "one" })[];
  readonly #sufferers = new Map<string, Sufferer>();
  #host: Host | undefined;

  constructor(
    private readonly stack: string,
    platform: HostConfig,
    config: StackConfig,
    private readonly interruption: AbortSignal,
  ) {
    this.plans = hostPlans(platform, config).map((plan) => ({ ...plan, machines: "one" }));
  }

  get died(): AbortSignal | undefined {
    return this.#host?.died;
  }

  readonly sufferer = (deployment: string): Sufferer | undefined => this.#sufferers.get(deployment);

  readonly open = async (possible: readonly Pairing[], opened: Opened): Promise<string> => {
    await stopAbandonedRuns(...allRunsDirectories());
    const programs = await findPrograms(packagesDirectory(), () => undefined, this.interruption);
    opened.programs(programs);
    const host = new Host(RunDirectory.create(runsDirectory(), this.stack), programs);
    this.#host = host;
    const signal = AbortSignal.any([this.interruption, host.died]);
    const plans = this.plans.filter(({ name }) => possible.some(({ deployment }) => deployment === name));
    await Promise.all(plans.map((plan) => this.#startOne(host, fittedPlan(plan, possible), signal, opened)));
    return `Started, formed and verified ${plans.map(({ name }) => name).join(" and ")} with Valkey ${programs.version} from ${programs.source}`;
  };

  readonly stop = async (): Promise<void> => {
    const host = this.#host;
    if (host !== undefined) await runSteps([{ title: "Stop the servers", run: () => host.stop().then(() => undefined) }]);
  };

  async #startOne(host: Host, plan: HostPlan, signal: AbortSignal, opened: Opened): Promise<void> {
    const deployment = await host.start(plan, signal);
    const { milliseconds } = await host.form(deployment, plan.shape, { signal });
    const verification = await verify(deployment);
    opened.verified(verification, milliseconds);
    const primaries = verification.verdict.shards.flatMap(({ primary }) => primary ?? []);
    this.#sufferers.set(plan.name, { breaker: new HostBreaker(host, deployment, signal), shape: plan.shape, failsOver: plan.mode === "cluster" || plan.sentinel !== undefined, primaries });
  }
}

/** With what its scenarios need: addresses by zone for cuts, a small disk to be filled. */
function fittedPlan(plan: HostPlan, possible: readonly Pairing[]): HostPlan {
  const faults = possible.filter(({ deployment }) => deployment === plan.name).map(({ planned }) => planned.scenario.fault.kind);
  return { ...plan, zoneAddresses: faults.includes("cut-zone"), diskBytes: faults.includes("full-disk") ? DISK_BYTES : undefined };
}
