import { Failure, messageOf } from "../../lib/errors";
import { poll } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import { isTimeout } from "../connection";
import type { DeploymentNode } from "../node";

export interface FormationOptions {
  /** Time limit for the whole operation, milliseconds. @default 60000 plus 500 per node */
  readonly timeoutMs?: number;
  /** Signal that stops the formation. A later call continues the formation. */
  readonly signal?: AbortSignal;
  /** Nodes that leave: they still run, are not in the deployment's list, and lose their slots first. */
  readonly leaving?: readonly DeploymentNode[];
  /** Names of nodes that leave and do not run. If one is not marked as failed or serves slots, nothing is changed. */
  readonly absent?: readonly string[];
  /** Limits for a call that only repairs a deployment that serves. @default the deployment gets the wanted shape */
  readonly repair?: RepairLimits;
  readonly report?: ReportProgress;
}

/** Forms no new cluster, moves only slots of abandoned migrations, and changes nothing with two primaries. */
export interface RepairLimits {
  /** Whether a replica may take over from a working primary, to spread primaries evenly over the zones. */
  readonly handOver: boolean;
  /** Checksum (`OpenSlots.work`) of abandoned open slots; if it has changed, nothing is repaired. */
  readonly abandoned?: string | undefined;
}

export interface FormationResult {
  readonly changed: boolean;
  readonly milliseconds: number;
}

const NOTHING_MISSING = {};

export class Deadline {
  readonly #began = performance.now();
  readonly #timeoutMs: number;
  readonly #pollMs: number;
  #deadline: number;

  /** With more nodes, the interval between polls is longer, because replies use CPU time of the nodes. */
  constructor(
    private readonly deployment: string,
    nodes: number,
    private readonly options: FormationOptions,
    private readonly goal:
      | "formed"
      | "resized"
      | "ready to be resized"
      | "ready for a new primary"
      | "ready to run without Sentinels" = "formed",
  ) {
    this.#timeoutMs = options.timeoutMs ?? 60_000 + 500 * nodes;
    this.#deadline = this.#began + this.#timeoutMs;
    this.#pollMs = Math.min(250, Math.max(25, nodes / 2));
  }

  get elapsedMs(): number {
    return performance.now() - this.#began;
  }

  /** @throws Failure with the missing conditions when the time is up; the signal's reason when the signal is aborted */
  async poll(missing: () => Promise<string | undefined>): Promise<void> {
    await this.find(async () => (await missing()) ?? NOTHING_MISSING);
  }

  /** @param find returns the object, or a text that says what is missing */
  async find<T extends object>(find: () => Promise<T | string>): Promise<T> {
    const check = async (): Promise<T | undefined> => {
      const found = await find().catch(timeoutMessage);
      if (typeof found !== "string") return found;
      this.options.signal?.throwIfAborted();
      this.options.report?.(found, true);
      if (performance.now() <= this.#deadline) return undefined;
      const seconds = Math.round(this.elapsedMs / 1000);
      throw new Failure(`${this.deployment} is not ${this.goal} after ${seconds} s: ${found}`);
    };
    return (await poll(check, { intervalMs: this.#pollMs, signal: this.options.signal })) as T;
  }

  restart(): void {
    this.#deadline = performance.now() + this.#timeoutMs;
  }

  /** For steps that take longer with more data: starts the time limit again whenever the missing text changes. */
  async pollWhileProgressing(missing: () => Promise<string | undefined>): Promise<void> {
    let last: string | undefined;
    await this.poll(async () => {
      const message = await missing();
      if (message !== last) this.restart();
      last = message;
      return message;
    });
  }
}

/** Such a timeout does not end the polling, because a busy machine can answer later. */
function timeoutMessage(error: unknown): string {
  if (isTimeout(error)) return messageOf(error);
  throw error;
}
