/** Waits until a deployment is in a wanted state. All conditions share one time limit. */
import { Failure, messageOf } from "../../lib/errors";
import { poll } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import { isTimeout } from "../connection";
import type { DeploymentNode } from "../node";

/** Options for forming or resizing a deployment. */
export interface FormationOptions {
  /** Time limit for the whole operation, milliseconds. @default 60000 plus 500 per node */
  readonly timeoutMs?: number;
  /** Stops the formation; a later call continues it. */
  readonly signal?: AbortSignal;
  /**
   * Nodes that leave the cluster. They are not in the list of the deployment's nodes. Their slots are moved to other
   * nodes, and all other nodes forget them.
   */
  readonly leaving?: readonly DeploymentNode[];
  /**
   * Names of leaving nodes that do not run. The running nodes know leaving nodes by their host names, and forget a
   * leaving node if it is marked as failed and serves no slots. If a node in this list is in a different state, nothing
   * is changed.
   */
  readonly absent?: readonly string[];
  /** Limits for a call that only repairs a deployment that serves. @default the deployment gets the wanted shape */
  readonly repair?: RepairLimits;
  readonly report?: ReportProgress;
}

/**
 * Limits of a repair. A repair moves no slots and forms no new cluster. In replication mode it changes nothing while
 * there is more than one primary.
 */
export interface RepairLimits {
  /** Whether a replica may take over from a primary that works, for an even spread over the zones. */
  readonly handOver: boolean;
}

/** Result of a formation. */
export interface FormationResult {
  /** False if the deployment already had the wanted shape, so that nothing was changed. */
  readonly changed: boolean;
  readonly milliseconds: number;
}

const NOTHING_MISSING = {};

/** A time limit for polling nodes until they report the expected state. */
export class Deadline {
  readonly #began = performance.now();
  readonly #timeoutMs: number;
  readonly #pollMs: number;
  #deadline: number;

  /**
   * @param nodes number of polled nodes. With more nodes, the interval between polls is longer, because replies cost
   *   the nodes time
   * @param goal for the error message: the state that the deployment has not reached when the time is up
   */
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

  /** Milliseconds since the deadline was created. */
  get elapsedMs(): number {
    return performance.now() - this.#began;
  }

  /**
   * Calls `missing` until it reports that nothing is missing.
   * @param missing asks the nodes; returns what is missing, in words for the user
   * @throws Failure with what is missing when the time is up; the signal's reason when stopped
   */
  async poll(missing: () => Promise<string | undefined>): Promise<void> {
    await this.find(async () => (await missing()) ?? NOTHING_MISSING);
  }

  /** Calls `find` until it returns an object. @param find returns the object, or a text that says what is missing */
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

  /** Starts the time limit again, for the next step. */
  restart(): void {
    this.#deadline = performance.now() + this.#timeoutMs;
  }

  /**
   * Like `poll`, but starts the time limit again whenever the text about what is missing changes. It is for steps that
   * take longer with more data.
   */
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

/**
 * Text about a command or a connection that timed out. It does not end the polling, because a busy machine may answer
 * later.
 */
function timeoutMessage(error: unknown): string {
  if (isTimeout(error)) return messageOf(error);
  throw error;
}
