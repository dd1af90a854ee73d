/**
 * The script of a runner's container (`runner.sh`), and the names that the script shares with this program. Runners
 * wait for each other and report through the server under test, because all runners can reach this server. The runners
 * use their own keys, and only commands that no test sends. So the counts of a test do not include the runners'
 * commands.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Placeholders in the load generator's arguments. `runner.sh` replaces each placeholder with the value for its runner.
 */
export const PLACEHOLDERS = {
  requests: "@REQUESTS@",
  rate: "@RATE@",
  /** The seed of the phase plus the runner's number. */
  seed: "@SEED@",
  password: "@PASSWORD@",
  /**
   * Credentials in the form `user:password` for memtier_benchmark. The sidecar inserts the credentials (`sidecar.sh`).
   */
  credentials: "@CREDENTIALS@",
  /** Separator between the arguments of the warm-up and the arguments of the measurement. */
  then: "@THEN@",
} as const;

/** Prefix of the record's lines that the runner writes. All other lines are output of the load generator. */
export const RECORD_LINE_PREFIX = "@@";

/** Names of the keys that runners use to wait for each other. */
export interface RunnerKeys {
  /** Key of a string with one byte for each runner that has arrived at a phase. */
  readonly arrived: (phase: number) => string;
  /** Key of a list with one element for each runner. The phase starts when the list exists. */
  readonly go: (phase: number) => string;
  /**
   * Key of the list `go` before the phase starts. RENAME of this key to `go` starts the phase for all runners at once.
   * No test sends RENAME, so this command does not change the counts of a test.
   */
  readonly ready: (phase: number) => string;
  readonly record: (runner: number) => string;
}

/** @param prefix prefix of every key. In a cluster it has a hash tag, because all keys must be on the same node */
export function runnerKeys(prefix: string): RunnerKeys {
  return {
    arrived: (phase) => `${prefix}:arrived:${phase}`,
    go: (phase) => `${prefix}:go:${phase}`,
    ready: (phase) => `${prefix}:ready:${phase}`,
    record: (runner) => `${prefix}:record:${runner}`,
  };
}

/** The script for a POSIX shell. Its first lines explain the environment and the arguments. */
export const RUNNER_SCRIPT = readFileSync(join(__dirname, "runner.sh"), "utf8");
