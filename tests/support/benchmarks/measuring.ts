/** Two small deployments of real servers, one of each mode, and series of measurements on them. */
import { beforeAll } from "vitest";
import { localLoadDrivers } from "../../../benchmarks/measuring/local-load-drivers";
import { runMeasurements } from "../../../benchmarks/measuring/run-measurements";
import type { VerifiedDeployment } from "../../../benchmarks/measuring/session";
import type { ReferenceLoadRecord, MeasurementRecord } from "../../../benchmarks/results/schema";
import { verify } from "../../../valkey/verification/verify";
import type { MixedWorkload } from "../../../benchmarks/workloads/mixed-workload";
import type { Workload } from "../../../benchmarks/workloads/workload";
import { useSandbox } from "../valkey/hooks";
import { type Sandbox, never } from "../valkey/real";
import { workload } from "./tool-runs";

const WORKLOAD = workload({
  ...{ tests: [], clients: 12, pipeline: 4, dataSize: 32, keySpace: 16_384, length: { requests: 3_000 }, warmup: 0 },
});

interface MeasuredSeries {
  readonly records: MeasurementRecord[];
  readonly referenceLoads: ReferenceLoadRecord[];
  readonly raw: string[];
}

interface SeriesOptions {
  readonly repeats: number;
  readonly some: readonly VerifiedDeployment[];
  readonly mixes: readonly MixedWorkload[];
}

export class MeasuredDeployments {
  #contenders: readonly VerifiedDeployment[] = [];

  constructor(private readonly sandbox: Sandbox) {}

  async open(replicas = 0): Promise<void> {
    const deployments = await Promise.all([
      this.sandbox.formedReplication("replication", replicas),
      this.sandbox.formedCluster("cluster", 3, replicas),
    ]);
    this.#contenders = await Promise.all(
      deployments.map(async (deployment) => ({ deployment, shards: (await verify(deployment)).verdict.shards })),
    );
  }

  get contenders(): readonly VerifiedDeployment[] {
    return this.#contenders;
  }

  async measure(
    load: Partial<Workload>,
    { repeats = 1, some = this.contenders, mixes = [] }: Partial<SeriesOptions> = {},
  ): Promise<MeasuredSeries> {
    const series: MeasuredSeries = { records: [], referenceLoads: [], raw: [] };
    const { run, programs } = this.sandbox.host;
    await runMeasurements(
      { deployments: some, workload: { ...WORKLOAD, ...load }, mixedWorkloads: mixes, repeats },
      { ...(await localLoadDrivers({ run, benchmark: programs.benchmark, serversHere: true }, mixes)), signal: never },
      {
        progress: () => undefined,
        raw: (heading, text) => void series.raw.push(heading, text),
        record: (record) => void series.records.push(record),
        referenceLoad: (referenceLoad) => void series.referenceLoads.push(referenceLoad),
      },
    );
    return series;
  }
}

export function useMeasuredDeployments(): MeasuredDeployments {
  const deployments = new MeasuredDeployments(useSandbox());
  beforeAll(() => deployments.open());
  return deployments;
}
