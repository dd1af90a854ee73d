/** Polls a deployment until it reaches a wanted state. All conditions of this state share one time limit. */
import { Failure, messageOf } from "../../lib/errors";
import { poll } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import { isTimeout } from "../connection";
import type { DeploymentNode } from "../node";

/** Options for forming or resizing a deployment. */
export interface FormationOptions {
  /** Time limit for the whole operation, milliseconds. @default 60000 plus 500 per node */
  readonly timeoutMs?: number;
  /** Signal that stops the formation. A later call continues the formation. */
  readonly signal?: AbortSignal;
  /**
   * Nodes that are to leave the cluster. The deployment's list of nodes does not contain these nodes. Formation moves
   * the slots of these nodes to the nodes that stay. After that, the nodes that stay forget the nodes that leave.
   */
  readonly leaving?: readonly DeploymentNode[];
  /**
   * Names of nodes that are to leave the cluster and do not run. The running nodes know such a node by its host name. A
   * running node forgets such a node only if the node is marked as failed and serves no slots. If any node in this list
   * is in a different state, nothing is changed.
   */
  readonly absent?: readonly string[];
  /** Limits for a call that only repairs a deployment that serves. @default the deployment gets the wanted shape */
  readonly repair?: RepairLimits;
  readonly report?: ReportProgress;
}

/**
 * Limits of a repair. A repair forms no new cluster, and moves no slots except the slots of abandoned migrations. In
 * replication mode, a repair changes nothing while there is more than one primary.
 */
export interface RepairLimits {
  /**
   * Whether a replica is allowed to take over from a primary that works, to spread the primaries evenly over the zones.
   */
  readonly handOver: boolean;
  /**
   * Checksum of open slots (field `work` of `OpenSlots`) that nobody migrates any more. The repair ends the migrations
   * of these slots. If the checksum has changed meanwhile, the repair changes nothing.
   * @default a repair changes nothing while a slot is open
   */
  readonly abandoned?: string | undefined;
}

/** Result of a formation. */
export interface FormationResult {
  /** Whether formation changed the deployment. False if the deployment already had the wanted shape. */
  readonly changed: boolean;
  readonly milliseconds: number;
}

const NOTHING_MISSING = {};

/** Polls nodes until they report an expected state, or until a time limit is over. */
export class Deadline {
  readonly #began = performance.now();
  readonly #timeoutMs: number;
  readonly #pollMs: number;
  #deadline: number;

  /**
   * @param nodes number of polled nodes. With more nodes, the interval between polls is longer, because replies use
   * CPU time of the nodes
   * @param goal the wanted state of the deployment, for the error message when the time is up
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
   * Calls `missing` again and again, until it reports that nothing is missing.
   * @param missing asks the nodes, and returns a description of the missing conditions for the user
   * @throws Failure with the missing conditions when the time is up; the signal's reason when the signal is aborted
   */
  async poll(missing: () => Promise<string | undefined>): Promise<void> {
    await this.find(async () => (await missing()) ?? NOTHING_MISSING);
  }

  /**
   * Calls `find` again and again, until it returns an object.
   * @param find returns the object, or a text that says what is missing
   */
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
   * Polls like `poll`, but starts the time limit again whenever the text about what is missing changes. This method is
   * for steps that take longer with more data.
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
 * Text about a command or a connection that timed out. Such a timeout does not end the polling, because a busy machine
 * can answer later.
 */
function timeoutMessage(error: unknown): string {
  if (isTimeout(error)) return messageOf(error);
  throw error;
}
