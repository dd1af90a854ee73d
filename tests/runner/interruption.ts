/** Ends a run after SIGINT or SIGTERM: in order if that is quick enough, else by force. */
import { execFileSync } from "node:child_process";
import type { Vitest } from "vitest/node";
import { print } from "../../cli/terminal/terminal";

/** Time to end in order. What sends SIGTERM often sends SIGKILL 10 s later. */
const GRACE_MS: Readonly<Record<string, number>> = { SIGINT: 60_000, SIGTERM: 5_000 };
/** Time from the kill to the end of the run. */
const KILL_MS = 2_000;
/** `npm` passes on a signal that the terminal has sent to this process, too. */
const SAME_SIGNAL_MS = 1_000;

export class Interruption {
  readonly #vitests: Vitest[] = [];
  #since: number | undefined;

  /** @param onSignal called at the first signal @param onTimeout called when a run has not ended in time */
  constructor(
    private readonly onSignal: () => void,
    private readonly onTimeout: () => void,
  ) {
    this.#listen();
  }

  get hasHappened(): boolean {
    return this.#since !== undefined;
  }

  /** Takes the signals over from an instance. Its own listeners end the process at once and leave servers behind. */
  watch(vitest: Vitest): void {
    this.#vitests.push(vitest);
    this.#listen();
  }

  #listen(): void {
    for (const signal of Object.keys(GRACE_MS)) process.removeAllListeners(signal).on(signal, this.#receive);
  }

  readonly #receive = (signal: string): void => {
    if (Date.now() - (this.#since ?? Infinity) > SAME_SIGNAL_MS) process.exit(130);
    if (this.hasHappened) return;
    this.#since = Date.now();
    const grace = GRACE_MS[signal] ?? 0;
    print(`${signal}: what runs has ${grace / 1000} s to end in order; press Ctrl-C again to quit at once.`);
    this.onSignal();
    const cancel = (): void => {
      for (const vitest of this.#vitests) void vitest.cancelCurrentRun("keyboard-input");
    };
    cancel();
    // Vitest kills its processes when it is told a second time.
    setTimeout(cancel, grace);
    setTimeout(() => {
      killChildren();
      this.onTimeout();
    }, grace + KILL_MS);
  };
}

/** Ends processes of vitest that are still there, on a busy machine. They would hold this run's output open. */
function killChildren(): void {
  let pids = "";
  try {
    pids = execFileSync("pgrep", ["-P", String(process.pid)], { encoding: "utf8" });
  } catch {
    // No process is left, or this machine has no pgrep.
  }
  for (const pid of pids.split("\n").filter(Boolean))
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
}
