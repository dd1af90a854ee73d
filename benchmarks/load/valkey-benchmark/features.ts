import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Failure, messageOf } from "../../../lib/errors";

export interface ValkeyBenchmarkFeatures {
  /** `--duration`: a run ends after the given time, at most some milliseconds late. */
  readonly duration: boolean;
  /** `--rps`: requests are sent at an offered rate. */
  readonly rate: boolean;
  /** `--rfr`: reads go to the replicas of a cluster. */
  readonly readFrom: boolean;
}

export async function detectFeatures(benchmark: string): Promise<ValkeyBenchmarkFeatures> {
  try {
    const { stdout } = await promisify(execFile)(benchmark, ["--help"], { encoding: "utf8" });
    return parseFeatures(stdout);
  } catch (error) {
    throw new Failure(`${benchmark} --help failed: ${messageOf(error)}`, { cause: error });
  }
}

export function parseFeatures(help: string): ValkeyBenchmarkFeatures {
  const has = (option: string): boolean => new RegExp(`^\\s*${option}\\b`, "m").test(help);
  return { duration: has("--duration"), rate: has("--rps"), readFrom: has("--rfr") };
}
