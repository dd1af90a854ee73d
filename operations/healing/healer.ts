/** Repairs one deployment after a verification, if a repair is safe. */
import { messageOf } from "../../lib/errors";
import { withTimeLimit } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import type { RepairOrder } from "../changes/repair";
import type { HealingDecision, HealingMemory } from "./healing";
import { decide, NO_MEMORY, remember, rememberRepair, rememberRepairEnd } from "./healing";
import type { Look } from "../inspection/look";
import type { LostMachines, Replacement } from "./lost-machines";
import type { RepairOutcome } from "../inspection/metrics";
import type { RepairLock } from "./repair-lock";

export const REPAIR_MS = 300_000;

type Repair = Extract<HealingDecision, { kind: "repair" }>;

/** `waiting`: the reason why a problem is not repaired. `step`: a step of a repair. */
export interface HealingReport {
  readonly kind: "waiting" | "begun" | "step" | RepairOutcome;
  /** Whether it is about the replacement of a pod on a lost machine. @default false: about a repair */
  readonly isReplacement?: boolean;
  readonly message: string;
}

export interface HealedDeployment {
  readonly lock: RepairLock;
  /** Whether settings that somebody changed by hand get their configured values. @default false */
  readonly repairSettings?: boolean | undefined;
  /** @returns whether anything had to be changed. @throws Failure when it must not be changed, or the repair fails */
  readonly repair: (order: RepairOrder, signal: AbortSignal, report: ReportProgress) => Promise<boolean>;
  /** Replaces pods whose machines do not come back. @default such pods are not replaced */
  readonly lostMachines?: LostMachines | undefined;
  /** The healer does not report a reason to wait twice in a row. */
  readonly report: (report: HealingReport) => void | Promise<void>;
}

export class Healer {
  #memory: HealingMemory;
  /** Whether `#memory` already contains the repairs by earlier processes. */
  #isInformed = false;
  /** Last reported reason why a problem is not repaired, so that each reason is reported only once. */
  #waiting = "";

  /** @param now reads the present time, milliseconds since 1970 */
  constructor(
    private readonly deployment: HealedDeployment,
    private readonly now: () => number = Date.now,
  ) {
    // A failover may have happened before this process started.
    this.#memory = { ...NO_MEMORY, failoverAt: now() };
  }

  /** Throws only errors of `report`. The signal ends a repair in an orderly way. */
  async afterLook(look: Look, signal: AbortSignal): Promise<void> {
    const { lock, repairSettings = false } = this.deployment;
    let failure: string | undefined;
    try {
      await this.#inform();
    } catch (error) {
      failure = messageOf(error);
    }
    this.#memory = remember({ ...this.#memory, repairsSettings: repairSettings && lock.hasCurrentSettings() }, look);
    if (failure !== undefined) {
      await this.#wait(failure);
      return;
    }
    if (await this.#replaceLost(look, signal)) return;
    const decision = decide(this.#memory, look);
    if (decision.kind === "wait") await this.#wait(decision.why);
    else this.#waiting = "";
    if (decision.kind === "repair") await this.#repairAlone(decision, signal);
  }

  /** The first call also reads the repairs by earlier processes. @throws the errors of `observe` */
  async #inform(): Promise<void> {
    const history = await this.deployment.lock.observe();
    if (!this.#isInformed) this.#memory = { ...this.#memory, ...history };
    this.#isInformed = true;
  }

  async #wait(why: string): Promise<void> {
    if (why === this.#waiting) return;
    this.#waiting = why;
    await this.#report("waiting", `nothing is repaired: ${why}`);
  }

  /** @returns whether a machine with pods is gone or not Ready: then the healer repairs nothing else */
  async #replaceLost({ assertions }: Look, signal: AbortSignal): Promise<boolean> {
    const { lostMachines } = this.deployment;
    if (lostMachines === undefined || !assertions.some(({ id, holds }) => id === "reachable" && !holds)) return false;
    const { repairs } = this.#memory;
    try {
      const decision = await lostMachines.decide(repairs);
      if (decision.kind === "none") return false;
      if (decision.kind === "wait") await this.#wait(decision.why);
      else {
        this.#waiting = "";
        const counted = { ...this.#memory, repairs: [...repairs, this.now()] };
        await this.alone(signal, (held) => this.#replace(lostMachines, decision, repairs, held), counted);
      }
    } catch (error) {
      await this.#wait(messageOf(error));
    }
    return true;
  }

  async #replace(
    lostMachines: LostMachines,
    decision: Replacement,
    repairs: readonly number[],
    signal: AbortSignal,
  ): Promise<void> {
    const { role, pod, facts } = decision;
    await this.#report("begun", `replacing ${role} ${pod.name}: ${facts}`, true);
    const [outcome, text] = await lostMachines.replace(decision, repairs, signal).then(
      (): [RepairOutcome, string] => ["done", `replaced ${role} ${pod.name}: ${facts}`],
      (error: unknown): [RepairOutcome, string] => ["failed", `cannot replace ${pod.name}: ${messageOf(error)}`],
    );
    await this.#report(outcome, text, true);
  }

  #repairAlone(decision: Repair, signal: AbortSignal): Promise<boolean> {
    const repair = async (held: AbortSignal): Promise<void> => {
      const hasSucceeded = await this.#repair(decision, held);
      this.#memory = rememberRepairEnd(this.#memory, this.now(), hasSucceeded);
    };
    return this.alone(signal, repair, rememberRepair(this.#memory, this.now()));
  }

  /** Reports errors and does not throw them. @param counted memory in which this work already counts as a repair */
  async alone(
    signal: AbortSignal,
    work: (held: AbortSignal) => Promise<void>,
    counted?: HealingMemory,
  ): Promise<boolean> {
    const { lock } = this.deployment;
    try {
      if (!this.#isInformed) await this.#inform();
      const memory = counted ?? this.#memory;
      const why = await lock.begin(memory);
      if (why !== undefined) {
        await this.#wait(why);
        return false;
      }
      this.#memory = memory;
      await withTimeLimit(signal, REPAIR_MS, (limited) => lock.during(limited, work));
      return true;
    } catch (error) {
      await this.#wait(messageOf(error));
      return false;
    } finally {
      await lock.end(this.#memory);
    }
  }

  async #repair({ what, handOver, abandoned, settings = false }: Repair, signal: AbortSignal): Promise<boolean> {
    const why = what.join(", ");
    await this.#report("begun", `repairing ${why}${handOver ? "" : ", without a hand-over"}`);
    const onStep: ReportProgress = (line, passing) => {
      if (passing !== true) void this.#report("step", line);
    };
    // Settings are repaired only if this process still knows the settings of the last update. An update may have begun
    // and failed since the verification.
    const order = { handOver, abandoned, settings: settings && this.deployment.lock.hasCurrentSettings() };
    const [outcome, text] = await this.deployment.repair(order, signal, onStep).then(
      (changed): [RepairOutcome, string] =>
        changed ? ["done", `repaired ${why}`] : ["unneeded", `no change was needed to repair ${why}`],
      (error: unknown): [RepairOutcome, string] => ["failed", `cannot repair ${why}: ${messageOf(error)}`],
    );
    await this.#report(outcome, text);
    return outcome !== "failed";
  }

  async #report(kind: HealingReport["kind"], message: string, isReplacement = false): Promise<void> {
    await this.deployment.report({ kind, message, isReplacement });
  }
}
