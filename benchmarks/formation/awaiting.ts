/** Waiting for several things under one deadline, and saying what was missing when it passed. */
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "../errors";
import type { Report } from "../progress";

export interface FormationOptions {
  /** How long all of it may take, milliseconds. @default 60000 and 500 more per node */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Told what is awaited. */
  readonly report?: Report;
}

export interface FormationResult {
  /** False when everything was formed already and nothing was changed. */
  readonly changed: boolean;
  readonly milliseconds: number;
}

export class Awaiting {
  readonly #began = performance.now();
  readonly #deadline: number;
  readonly #pollMs: number;

  /** @param nodes how many are polled: the more, the less often, for the answers cost the nodes time to form */
  constructor(
    private readonly deployment: string,
    nodes: number,
    private readonly options: FormationOptions,
  ) {
    this.#deadline = this.#began + (options.timeoutMs ?? 60_000 + 500 * nodes);
    this.#pollMs = Math.min(250, Math.max(25, nodes / 2));
  }

  /** Milliseconds since the beginning. */
  get elapsed(): number {
    return performance.now() - this.#began;
  }

  /**
   * Waits until `missing` finds nothing missing.
   * @param missing asks, and says what is missing in words for the user
   * @throws Failure once the time is up; the signal's reason when told to stop
   */
  async until(missing: () => Promise<string | undefined>): Promise<void> {
    for (let what = await missing(); what !== undefined; what = await missing()) {
      this.options.signal?.throwIfAborted();
      this.options.report?.(what, true);
      if (performance.now() > this.#deadline) throw new Failure(`${this.deployment} is not formed after ${Math.round(this.elapsed / 1000)} s: ${what}`);
      await sleep(this.#pollMs);
    }
  }
}
