/**
 * Runners wait for each other through the server under test, which all can reach, with their own keys and commands that
 * no test sends, so the counts of a test do not include them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const PLACEHOLDERS = {
  requests: "@REQUESTS@",
  rate: "@RATE@",
  /** The seed of the phase plus the runner's number. */
  seed: "@SEED@",
  password: "@PASSWORD@",
  /** `user:password` for memtier_benchmark. The sidecar inserts it (`sidecar.sh`). */
  credentials: "@CREDENTIALS@",
  /** Separator between the arguments of the warm-up and the arguments of the measurement. */
  then: "@THEN@",
} as const;

/** All other lines are output of the load generator. */
export const RECORD_LINE_PREFIX = "@@";

export interface RunnerKeys {
  /** Key of a string with one byte for each runner that has arrived at a phase. */
  readonly arrived: (phase: number) => string;
  /** The phase starts when the list exists. */
  readonly go: (phase: number) => string;
  /** Key of the list `go` before the phase starts. RENAME starts all runners at once, and no test sends it. */
  readonly ready: (phase: number) => string;
  readonly record: (runner: number) => string;
}

/** In a cluster it has a hash tag, because all keys must be on the same node */
export function runnerKeys(prefix: string): RunnerKeys {
  return {
    arrived: (phase) => `${prefix}:arrived:${phase}`,
    go: (phase) => `${prefix}:go:${phase}`,
    ready: (phase) => `${prefix}:ready:${phase}`,
    record: (runner) => `${prefix}:record:${runner}`,
  };
}

export const RUNNER_SCRIPT = readFileSync(join(__dirname, "runner.sh"), "utf8");
