/** Milliseconds since the epoch, with fractions. Later calls never return smaller values. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}

const STEP_MS = 1_000;
const AT_ONCE_MS = 100;

/** Never goes back by itself. Steps once when the machine's clock is set, or after it was suspended. */
export class SteadyClock {
  #offset = Date.now() - performance.now();

  /** @param onStep called when the clock has stepped, with the milliseconds by which it went on or back */
  constructor(private readonly onStep: (stepMs: number) => void) {}

  /** Milliseconds since the epoch, with fractions. */
  readonly now = (): number => {
    const before = performance.now();
    const wall = Date.now();
    const steady = performance.now();
    const stepMs = wall - steady - this.#offset;
    // If the process has paused between the readings, they say nothing about the clock.
    if (Math.abs(stepMs) > STEP_MS && steady - before < AT_ONCE_MS) {
      this.#offset += stepMs;
      this.onStep(stepMs);
    }
    return steady + this.#offset;
  };
}

export function describeStep(stepMs: number): string {
  const seconds = (Math.abs(stepMs) / 1000).toFixed(1);
  return stepMs < 0
    ? `the clock of this machine was set back by ${seconds} s; later data get the new time`
    : `the clock of this machine was set forward by ${seconds} s, or the machine was suspended; later data get the new time`;
}
