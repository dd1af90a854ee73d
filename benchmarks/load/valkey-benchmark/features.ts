/** What this machine's valkey-benchmark can do, by what its help says. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Failure, messageOf } from "../../../lib/errors";

export interface ValkeyBenchmarkFeatures {
  /** `--duration`: ends by the clock and overshoots by milliseconds, threads or not. */
  readonly duration: boolean;
  readonly rate: boolean;
  /** `--rfr`: asks replicas of a cluster. */
  readonly readFrom: boolean;
}

/** @throws Failure when the tool does not run */
export async function detectFeatures(benchmark: string): Promise<ValkeyBenchmarkFeatures> {
  try {
    const { stdout } = await promisify(execFile)(benchmark, ["--help"], { encoding: "utf8" });
    return parseFeatures(stdout);
  } catch (error) {
    throw new Failure(`${benchmark} --help fails: ${messageOf(error)}`, { cause: error });
  }
}

/** Pure. */
export function parseFeatures(help: string): ValkeyBenchmarkFeatures {
  const has = (option: string): boolean => new RegExp(`^\\s*${option}\\b`, "m").test(help);
  return { duration: has("--duration"), rate: has("--rps"), readFrom: has("--rfr") };
}
