import type { TlsFiles } from "../../../valkey/node";
import type { JobPhase } from "../../../benchmarks/load/jobs/job-plan";
import { valkeyBenchmarkInJobs } from "../../../benchmarks/load/jobs/load-generators";
import { namedTest } from "../../../benchmarks/workloads/named-tests";
import type { Workload } from "../../../benchmarks/workloads/workload";
import type { ValkeyBenchmarkRun } from "../../../benchmarks/load/valkey-benchmark/arguments";

export function workload(changes: Partial<Workload> = {}): Workload {
  return {
    name: undefined,
    tests: ["set"],
    clients: 4,
    pipeline: 2,
    dataSize: 16,
    threads: 1,
    keySpace: 100,
    length: { seconds: 10 },
    warmup: 1,
    rate: undefined,
    ...changes,
  };
}

export function toolRun(changes: Partial<ValkeyBenchmarkRun> = {}): ValkeyBenchmarkRun {
  const load = changes.workload ?? workload();
  return {
    mode: "replication",
    endpoint: { host: "10.0.0.1", port: 6379 },
    test: namedTest("set"),
    workload: load,
    length: load.length,
    seed: 500,
    credentials: undefined,
    tls: undefined,
    ...changes,
  };
}

export function jobPhase(
  tool: ValkeyBenchmarkRun,
  { username = "made-for-the-run", tls }: { readonly username?: string; readonly tls?: TlsFiles } = {},
): JobPhase {
  const deployment = { mode: tool.mode, nodes: [], access: {} };
  return {
    ...valkeyBenchmarkInJobs.phase(tool, { username, tls, runners: 1 }, deployment),
    timeoutSeconds: valkeyBenchmarkInJobs.timeoutSeconds(tool),
  };
}
