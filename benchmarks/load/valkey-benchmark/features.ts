/** What this machine's valkey-benchmark can do, by what its help says. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Failure, messageOf } from "../../../lib/errors";

export interface ToolFeatures {
  /** `--duration`: ends by the clock and overshoots by milliseconds, threads or not. */
  readonly duration: boolean;
  readonly rate: boolean;
  /** `--rfr`: asks replicas of a cluster. */
  readonly readFrom: boolean;
}

/** @throws Failure when the tool does not run */
export async function toolFeatures(benchmark: string): Promise<ToolFeatures> {
  try {
    const { stdout } = await promisify(execFile)(benchmark, ["--help"], { encoding: "utf8" });
    return featuresIn(stdout);
  } catch (error) {
    throw new Failure(`${benchmark} --help fails: ${messageOf(error)}`, { cause: error });
  }
}

/** Pure. */
export function featuresIn(help: string): ToolFeatures {
  const has = (option: string): boolean => new RegExp(`^\\s*${option}\\b`, "m").test(help);
  return { duration: has("--duration"), rate: has("--rps"), readFrom: has("--rfr") };
}
