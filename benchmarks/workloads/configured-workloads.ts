import { type BenchmarkSettings, DEFAULT_DURATION_SECONDS } from "./benchmark-schema";
import type { MixedWorkload } from "./mixed-workload";
import type { WorkloadConfig } from "./mixed-workload-schema";
import { type Workload, adjustKeySpace } from "./workload";

export function benchmarkWorkload(benchmark: BenchmarkSettings): Workload {
  const { workloadName, tests, clients, pipeline, dataSize, threads, keySpace, duration, requests, warmup, rate } =
    benchmark;
  const length = requests === undefined ? { seconds: duration ?? DEFAULT_DURATION_SECONDS } : { requests };
  return { name: workloadName, tests, clients, pipeline, dataSize, threads, keySpace, length, warmup, rate };
}

export function mixedWorkloads(
  {
    duration = DEFAULT_DURATION_SECONDS,
    requests,
    warmup,
  }: Pick<BenchmarkSettings, "duration" | "requests" | "warmup">,
  workloads: Readonly<Record<string, WorkloadConfig>>,
  anyCluster: boolean,
): MixedWorkload[] {
  return Object.entries(workloads).map(([name, workload]): MixedWorkload => {
    const seconds = requests !== undefined && workload.rate !== undefined ? requests / workload.rate : duration;
    const keySpace = adjustKeySpace(workload.keySpace, anyCluster);
    const common = { name, length: { seconds }, warmup, keySpace };
    // Closed loops always have the option `rate`; undefined means that the rate is unlimited.
    return workload.loadGenerator === "open-loop"
      ? { ...workload, ...common }
      : { ...workload, ...common, rate: workload.rate };
  });
}
