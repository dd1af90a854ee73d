/**
 * The script of a runner's container (`runner.sh`), and the names that it shares with this program. Runners meet and
 * report through the server under test, because all of them can reach it. They use their own keys, and commands that no
 * test sends, so that these commands are not counted.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Words in the load generator's arguments. `runner.sh` replaces each of them with the runner's own value. */
export const PLACEHOLDERS = {
  /** The runner's share of the requests. */
  requests: "@REQUESTS@",
  /** The runner's share of the rate. */
  rate: "@RATE@",
  /** The seed of the phase plus the runner's number. */
  seed: "@SEED@",
  /** The password of the user that is created for the run. */
  password: "@PASSWORD@",
  /** `user:password`, as memtier_benchmark takes them. The sidecar inserts them (`sidecar.sh`). */
  credentials: "@CREDENTIALS@",
  /** Separator between the arguments of the warm-up and those of the measurement. */
  then: "@THEN@",
} as const;

/** Beginning of the lines in a record that come from the runner and not from the load generator. */
export const RECORD_LINE_PREFIX = "@@";

/** Keys by which runners meet. */
export interface RunnerKeys {
  /** A string whose length is the number of runners that have arrived at a phase. */
  readonly arrived: (phase: number) => string;
  /** A list with one element for each runner. The phase starts when the list exists. */
  readonly go: (phase: number) => string;
  /** The same list before the start. RENAME turns it into `go` in one step, and no test sends RENAME. */
  readonly ready: (phase: number) => string;
  /** The record of a runner. */
  readonly record: (runner: number) => string;
}

/** @param prefix prefix of every key. In a cluster it contains a hash tag, because all keys must be on one node */
export function runnerKeys(prefix: string): RunnerKeys {
  return {
    arrived: (phase) => `${prefix}:arrived:${phase}`,
    go: (phase) => `${prefix}:go:${phase}`,
    ready: (phase) => `${prefix}:ready:${phase}`,
    record: (runner) => `${prefix}:record:${runner}`,
  };
}

/** The script, for a POSIX shell. Its beginning lists the environment and the arguments. */
export const RUNNER_SCRIPT = readFileSync(join(__dirname, "runner.sh"), "utf8");
