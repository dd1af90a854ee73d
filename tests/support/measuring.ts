/** Two small deployments of real servers, one of each mode, and experiments on them. */
import type { Deployment } from "../../valkey/deployment";
import { form } from "../../valkey/formation/form";
import { runExperiment } from "../../benchmarks/measuring/experiment";
import { LocalRunner } from "../../benchmarks/load/valkey-benchmark/local-runner";
import type { Contender } from "../../benchmarks/measuring/session";
import type { CanaryRecord, MeasurementRecord } from "../../benchmarks/results/schema";
import { toolFeatures } from "../../benchmarks/load/valkey-benchmark/features";
import { verify } from "../../valkey/verification/verify";
import type { Workload } from "../../benchmarks/workloads/workload";
import { never, Sandbox } from "./real";

const WORKLOAD: Workload = { name: undefined, tests: [], clients: 12, pipeline: 4, dataSize: 32, threads: 1, keySpace: 16_384, length: { requests: 3_000 }, warmup: 0, rate: undefined };

export interface Measured {
  readonly records: MeasurementRecord[];
  readonly canaries: CanaryRecord[];
}

/** A primary alone, and three of a cluster. */
export class Pair {
  private constructor(
    readonly sandbox: Sandbox,
    readonly contenders: readonly Contender[],
  ) {}

  static async open(): Promise<Pair> {
    const sandbox = await Sandbox.open();
    const [cluster, replication] = await Promise.all([sandbox.cluster("cluster", 3, 0), sandbox.replication("replication", 0)]);
    await Promise.all([form(cluster, { primaries: 3, replicasPerPrimary: 0 }), form(replication, { primaries: 1, replicasPerPrimary: 0 })]);
    return new Pair(sandbox, await Promise.all([contender(replication), contender(cluster)]));
  }

  async measure(workload: Partial<Workload>, repeats = 1, some = this.contenders): Promise<Measured> {
    const records: MeasurementRecord[] = [];
    const canaries: CanaryRecord[] = [];
    const { run, programs } = this.sandbox.host;
    await runExperiment(
      { contenders: some, workload: { ...WORKLOAD, ...workload }, repeats },
      { runner: new LocalRunner({ run, benchmark: programs.benchmark, features: await toolFeatures(programs.benchmark), serversHere: true }), signal: never },
      { progress: () => undefined, raw: () => undefined, record: (record) => { records.push(record); }, canary: (canary) => { canaries.push(canary); } },
    );
    return { records, canaries };
  }
}

const contender = async (deployment: Deployment): Promise<Contender> => ({ deployment, shards: (await verify(deployment)).verdict.shards });
