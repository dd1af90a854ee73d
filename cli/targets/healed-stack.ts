import { hostname } from "node:os";
import { isDeepStrictEqual } from "node:util";
import type { HealedDeployment } from "../../controller/healer";
import { REPAIR_MS } from "../../controller/healer";
import type { RepairLock } from "../../controller/repair-lock";
import { FileLock, LeaseLock } from "../../controller/repair-lock";
import { BadInput } from "../../lib/errors";
import { openKubernetesClient } from "../../platforms/deployment-reference";
import { inspectDeployment } from "../../provider/updates/drift";
import { repairDeployment } from "../../provider/updates/repair";
import type { DeployedStack, DeployedTarget } from "./deployed-stack";
import type { Healed } from "./healed-servers";

/** Refuses deployments without a lock, because a repair and an update could change them at the same time. */
export async function healedStack(stack: string, read: () => Promise<DeployedStack>): Promise<Healed[]> {
  const { targets } = await read();
  const problems = targets.flatMap(({ target }) => {
    if (target.platform === "kubernetes")
      return target.lease === undefined
        ? [
            `${target.name} has no controller with repair: true. The Lease of this controller prevents a repair during an update`,
          ]
        : [];
    return target.lock === undefined
      ? [`${target.name} has no lock that prevents a repair during an update; run pulumi up --refresh`]
      : [];
  });
  if (problems.length > 0) throw BadInput.of("watch", "no-lock", problems, "--heal");
  return Promise.all(targets.map((each) => HealedTarget.open(stack, each, read)));
}

class HealedTarget implements Healed {
  readonly lock: RepairLock;

  private constructor(
    private readonly stack: string,
    private deployed: DeployedTarget,
    private readonly read: () => Promise<DeployedStack>,
    lockOf: (target: () => DeployedTarget["target"]) => RepairLock,
  ) {
    this.lock = this.#currentOnly(lockOf(() => this.deployed.target));
  }

  static async open(
    stack: string,
    deployed: DeployedTarget,
    read: () => Promise<DeployedStack>,
  ): Promise<HealedTarget> {
    const { target } = deployed;
    if (target.platform === "endpoints")
      return new HealedTarget(stack, deployed, read, () => new FileLock(target.lock ?? ""));
    const kubernetes = await openKubernetesClient(target);
    const identity = `watch on ${hostname()}, process ${process.pid}`;
    return new HealedTarget(stack, deployed, read, (current) => {
      const reference = (): typeof target => {
        const now = current();
        return now.platform === "kubernetes" ? now : target;
      };
      return new LeaseLock(kubernetes, reference, identity);
    });
  }

  get name(): string {
    return this.deployed.target.name;
  }

  readonly inspect: Healed["inspect"] = (signal, former) =>
    inspectDeployment(this.deployed.target, this.deployed.password, { former, signal, forRepair: true });

  readonly repair: HealedDeployment["repair"] = (limits, signal, report) =>
    repairDeployment(this.deployed.target, this.deployed.password, limits, { timeoutMs: REPAIR_MS, signal, report });

  /** No repair while an update is unfinished or has changed the deployment: it may end before the lock. */
  #currentOnly(lock: RepairLock): RepairLock {
    return {
      observe: () => lock.observe(),
      begin: async (history) => {
        const why = (await this.#whyOutdated()) ?? (await lock.begin(history));
        return why ?? this.#whyOutdated();
      },
      hasCurrentSettings: () => lock.hasCurrentSettings(),
      during: (signal, work) => lock.during(signal, work),
      end: (history) => lock.end(history),
    };
  }

  /** @returns the reason why nothing must be repaired now */
  async #whyOutdated(): Promise<string | undefined> {
    const { targets, isUnfinished } = await this.read();
    if (isUnfinished)
      return `the last update of stack ${this.stack} still runs or has failed; if it has failed, run pulumi up`;
    const now = targets.find(({ target }) => target.name === this.name);
    if (now === undefined) return `stack ${this.stack} no longer has the deployment ${this.name}`;
    if (isDeepStrictEqual(now, this.deployed)) return undefined;
    this.deployed = now;
    return `an update has changed stack ${this.stack}; the next verification expects the new state`;
  }
}
