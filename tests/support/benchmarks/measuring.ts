/** Two small deployments of real servers, one of each mode, and series of measurements on them. */
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { runMeasurements } from "../../../benchmarks/measuring/run-measurements";
import { LocalValkeyBenchmarkDriver } from "../../../benchmarks/load/valkey-benchmark/local-driver";
import type { VerifiedDeployment } from "../../../benchmarks/measuring/session";
import type { ReferenceLoadRecord, MeasurementRecord } from "../../../benchmarks/results/schema";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/features";
import { verify } from "../../../valkey/verification/verify";
import type { Workload } from "../../../benchmarks/workloads/workload";
import { never, Sandbox } from "../valkey/real";

const WORKLOAD: Workload = {
  name: undefined,
  tests: [],
  clients: 12,
  pipeline: 4,
  dataSize: 32,
  threads: 1,
  keySpace: 16_384,
  length: { requests: 3_000 },
  warmup: 0,
  rate: undefined,
};

export interface MeasuredSeries {
  readonly records: MeasurementRecord[];
  readonly referenceLoads: ReferenceLoadRecord[];
}

/** One primary in replication mode, and a cluster of three. */
export class MeasuredDeployments {
  private constructor(
    readonly sandbox: Sandbox,
    readonly contenders: readonly VerifiedDeployment[],
  ) {}

  static async open(): Promise<MeasuredDeployments> {
    const sandbox = await Sandbox.open();
    const [cluster, replication] = await Promise.all([
      sandbox.cluster("cluster", 3, 0),
      sandbox.replication("replication", 0),
    ]);
    await Promise.all([
      form(cluster, { primaries: 3, replicasPerPrimary: 0 }),
      form(replication, { primaries: 1, replicasPerPrimary: 0 }),
    ]);
    return new MeasuredDeployments(sandbox, await Promise.all([contender(replication), contender(cluster)]));
  }

  async measure(workload: Partial<Workload>, repeats = 1, some = this.contenders): Promise<MeasuredSeries> {
    const records: MeasurementRecord[] = [];
    const referenceLoads: ReferenceLoadRecord[] = [];
    const { run, programs } = this.sandbox.host;
    await runMeasurements(
      { deployments: some, workload: { ...WORKLOAD, ...workload }, repeats },
      {
        valkeyBenchmark: new LocalValkeyBenchmarkDriver({
          run,
          benchmark: programs.benchmark,
          features: await detectFeatures(programs.benchmark),
          serversHere: true,
        }),
        signal: never,
      },
      {
        progress: () => undefined,
        raw: () => undefined,
        record: (record) => {
          records.push(record);
        },
        referenceLoad: (referenceLoad) => {
          referenceLoads.push(referenceLoad);
        },
      },
    );
    return { records, referenceLoads };
  }
}

const contender = async (deployment: Deployment): Promise<VerifiedDeployment> => ({
  deployment,
  shards: (await verify(deployment)).verdict.shards,
});
