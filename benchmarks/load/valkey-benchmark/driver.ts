/** Driver of valkey-benchmark, for processes on this machine and for Jobs. */
import type { LoadRequest, LoadDriver } from "../load-driver";
import { TIMEOUT_MARGIN_SECONDS } from "../load-driver";
import type { ValkeyBenchmarkRun } from "./arguments";
import type { ValkeyBenchmarkFeatures } from "./features";

/** Sends loads with valkey-benchmark. */
export interface ValkeyBenchmarkDriver extends LoadDriver<ValkeyBenchmarkRun> {
  readonly features: ValkeyBenchmarkFeatures;
}

export type ValkeyBenchmarkRequest = LoadRequest<ValkeyBenchmarkRun>;

/**
 * The run of one load generator among several load generators. This run has a part of the requests and of the rate, and
 * its own seed.
 */
export function runnerShare(run: ValkeyBenchmarkRun, index: number, count: number): ValkeyBenchmarkRun {
  const part = (whole: number): number => Math.floor(whole / count) + (index < whole % count ? 1 : 0);
  const { rate } = run.workload;
  return {
    ...run,
    seed: run.seed + index,
    length: "requests" in run.length ? { requests: part(run.length.requests) } : run.length,
    workload: { ...run.workload, rate: rate === undefined ? undefined : part(rate) },
  };
}

/** Time limit for a run with a fixed number of requests, seconds. */
const REQUESTS_TIMEOUT_SECONDS = 3600;

/** Time limit for a run of valkey-benchmark, seconds. A run that takes longer counts as hanging. */
export function runTimeoutSeconds({ length }: ValkeyBenchmarkRun): number {
  return "seconds" in length ? length.seconds + TIMEOUT_MARGIN_SECONDS : REQUESTS_TIMEOUT_SECONDS;
}
