/**
 * Script of a runner's container (`runner.sh`), and the names it shares with this program. Runners meet and report
 * through the server under test, which all of them reach: by keys of their own and with commands that no test sends, so
 * that none of them is counted.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Words of the load generator's arguments that `runner.sh` replaces, each runner by its own value. */
export const PLACEHOLDERS = {
  /** The runner's share of the requests. */
  requests: "@REQUESTS@",
  /** The runner's share of the rate. */
  rate: "@RATE@",
  /** The seed of the phase, plus the runner's number. */
  seed: "@SEED@",
  /** The password of the user made for the run. */
  password: "@PASSWORD@",
  /** `user:password`, as memtier_benchmark takes them; the sidecar fills them in (`sidecar.sh`). */
  credentials: "@CREDENTIALS@",
  /** Separates the arguments of the warm-up from those of the measurement. */
  then: "@THEN@",
} as const;

/** Start of the record's lines that are the runner's and not the load generator's. */
export const RECORD_LINE_PREFIX = "@@";

/** Keys by which runners meet. */
export interface RunnerKeys {
  /** A string as long as the number of runners that have arrived at a phase. */
  readonly arrived: (phase: number) => string;
  /** A list with an element per runner; a phase starts when the list exists. */
  readonly go: (phase: number) => string;
  /** The same list before the start: RENAME makes it `go` in one step, and no test sends RENAME. */
  readonly ready: (phase: number) => string;
  /** The runner's record. */
  readonly record: (runner: number) => string;
}

/** @param prefix of every key, with a hash tag in a cluster: all keys must be on one node */
export function runnerKeys(prefix: string): RunnerKeys {
  return {
    arrived: (phase) => `${prefix}:arrived:${phase}`,
    go: (phase) => `${prefix}:go:${phase}`,
    ready: (phase) => `${prefix}:ready:${phase}`,
    record: (runner) => `${prefix}:record:${runner}`,
  };
}

/** POSIX shell; its head lists the environment and the arguments. */
export const RUNNER_SCRIPT = readFileSync(join(__dirname, "runner.sh"), "utf8");
