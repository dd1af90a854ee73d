/** Waiting for several things under one deadline, and saying what was missing when it passed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeploymentNode } from "../node";
import { Failure, messageOf } from "../../lib/errors";
import type { ReportProgress } from "../../lib/progress";

export interface FormationOptions {
  /** How long all of it may take, milliseconds. @default 60000 and 500 more per node */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Nodes of a cluster beside the deployment's own that are to leave it: emptied, and forgotten by all others. */
  readonly leaving?: readonly DeploymentNode[];
  /** Told what is awaited. */
  readonly report?: ReportProgress;
}

export interface FormationResult {
  /** False when everything was as wanted already and nothing was changed. */
  readonly changed: boolean;
  readonly milliseconds: number;
}

/** A node that is late with its answer, on a machine that has too much to do, is asked again: the time that all may take is the limit. */
function slowAnswer(error: unknown): string {
  if (/Command timed out/.test(messageOf(error))) return messageOf(error);
  throw error;
}

export class Deadline {
  readonly #began = performance.now();
  readonly #timeoutMs: number;
  #deadline: number;
  readonly #pollMs: number;

  /**
   * @param nodes how many are polled: the more, the less often, for the answers cost the nodes time to form
   * @param goal what is not so when the time is up
   */
  constructor(
    private readonly deployment: string,
    nodes: number,
    private readonly options: FormationOptions,
    private readonly goal: "formed" | "resized" | "ready to be resized" = "formed",
  ) {
    this.#timeoutMs = options.timeoutMs ?? 60_000 + 500 * nodes;
    this.#deadline = this.#began + this.#timeoutMs;
    this.#pollMs = Math.min(250, Math.max(25, nodes / 2));
  }

  /** Milliseconds since the beginning. */
  get elapsedMs(): number {
    return performance.now() - this.#began;
  }

  /**
   * Waits until `missing` finds nothing missing.
   * @param missing asks, and says what is missing in words for the user
   * @throws Failure once the time is up; the signal's reason when told to stop
   */
  async poll(missing: () => Promise<string | undefined>): Promise<void> {
    const ask = (): Promise<string | undefined> => missing().catch(slowAnswer);
    for (let what = await ask(); what !== undefined; what = await ask()) {
      this.options.signal?.throwIfAborted();
      this.options.report?.(what, true);
      if (performance.now() > this.#deadline)
        throw new Failure(
          `${this.deployment} is not ${this.goal} after ${Math.round(this.elapsedMs / 1000)} s: ${what}`,
        );
      await sleep(this.#pollMs);
    }
  }

  /** Begins the time anew: a step of several has come to its end. */
  restart(): void {
    this.#deadline = performance.now() + this.#timeoutMs;
  }

  /** As `until`, with the time beginning anew whenever what is missing changes: for what takes as long as there is data. */
  async pollWhileProgressing(missing: () => Promise<string | undefined>): Promise<void> {
    let last: string | undefined;
    await this.poll(async () => {
      const what = await missing();
      if (what !== last) this.restart();
      last = what;
      return what;
    });
  }
}
