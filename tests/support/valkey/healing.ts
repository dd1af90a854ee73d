/** A healer beside real servers, with a clock of the test's own. */
import { type HealedDeployment, type HealingReport, Healer } from "../../../operations/healing/healer";
import { lookOf } from "../../../operations/inspection/look";
import type { RepairLock } from "../../../operations/healing/repair-lock";
import { findOpenSlots } from "../../../operations/inspection/drift";
import { repairDeployment } from "../../../operations/changes/repair";
import type { Deployment } from "../../../valkey/deployment";
import type { Shape } from "../../../valkey/topology/placement";
import { verify } from "../../../valkey/verification/verify";
import { never, referenceTo } from "./real";

/** Always free, because no other process changes the servers. */
export const NO_LOCK: RepairLock = {
  observe: () => Promise.resolve(undefined),
  begin: () => Promise.resolve(undefined),
  hasCurrentSettings: () => true,
  during: (signal, work) => work(signal),
  end: () => Promise.resolve(),
};

const START = Date.parse("2026-11-27T12:00:00.000Z");

export class TestHealer {
  readonly reports: HealingReport[] = [];
  #clock = START;
  readonly #healer: Healer;

  constructor(
    private readonly deployment: Deployment,
    shape: Shape,
    settings: Partial<Pick<HealedDeployment, "lock" | "repairSettings">> = {},
  ) {
    const target = referenceTo(deployment, shape);
    this.#healer = new Healer(
      {
        lock: NO_LOCK,
        ...settings,
        repair: (order, signal, report) =>
          repairDeployment(target, deployment.access.password ?? "", order, { timeoutMs: 60_000, signal, report }),
        report: (report) => void this.reports.push(report),
      },
      () => this.#clock,
    );
  }

  get kinds(): string[] {
    return this.reports.map(({ kind }) => kind);
  }

  /** Looks some seconds after the start, and decides. A controller's look would wait 5 s for what may recover. */
  async lookAfter(seconds: number): Promise<void> {
    this.#clock = START + seconds * 1000;
    const verification = await verify(this.deployment);
    const inspection = { verification, drift: [], openSlots: await findOpenSlots(this.deployment, verification) };
    const times = { at: new Date(this.#clock), seconds: 0.1, former: undefined };
    await this.#healer.afterLook(lookOf(this.deployment.name, inspection, times), never);
  }
}
