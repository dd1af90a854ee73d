/** memtier_benchmark on real servers of both modes, where the machine has it: reads are hits, and all counts agree. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { BadInput } from "../../../lib/errors";
import { form } from "../../../valkey/formation/form";
import { runMeasurements } from "../../../benchmarks/measuring/run-measurements";
import { mixedLoadDrivers } from "../../../benchmarks/measuring/mixed-load-drivers";
import { LocalValkeyBenchmarkDriver } from "../../../benchmarks/load/valkey-benchmark/local-driver";
import type { VerifiedDeployment } from "../../../benchmarks/measuring/session";
import { findMemtier } from "../../../benchmarks/load/memtier/program";
import { histogramOf } from "../../../benchmarks/results/rows";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/features";
import { verify } from "../../../valkey/verification/verify";
import type { MemtierWorkload } from "../../../benchmarks/workloads/mixed-workload";
import { never, Sandbox } from "../../support/valkey/real";

function isInstalled(): boolean {
  try {
    findMemtier();
    return true;
  } catch (error) {
    if (error instanceof BadInput) return false;
    throw error;
  }
}

const MIX: MemtierWorkload = {
  loadGenerator: "memtier",
  name: "mixed",
  data: "strings",
  reads: 0.8,
  keySpace: 5_000,
  clients: 12,
  pipeline: 1,
  dataSize: 64,
  threads: 2,
  rate: undefined,
  length: { seconds: 1 },
  warmup: 0,
};

describe.skipIf(!isInstalled())(
  "memtier (skipped: there is no memtier_benchmark on the PATH, nor named by MEMTIER)",
  () => {
    let sandbox: Sandbox;
    let deployments: readonly Deployment[];
    beforeAll(async () => {
      sandbox = await Sandbox.open();
      const [replication, cluster] = await Promise.all([
        sandbox.replication("replication", 0),
        sandbox.cluster("cluster", 3, 0),
      ]);
      await form(cluster, { primaries: 3, replicasPerPrimary: 0 });
      deployments = [replication, cluster];
    });
    afterAll(() => sandbox.close());

    it("sends the configured load to existing keys, and its histogram holds every request", async () => {
      const records: MeasurementRecord[] = [];
      const raw: string[] = [];
      const contenders = await Promise.all(
        deployments.map(async (deployment): Promise<VerifiedDeployment> => ({
          deployment,
          shards: (await verify(deployment)).verdict.shards,
        })),
      );
      const { run, programs } = sandbox.host;
      const mixes = [MIX, { ...MIX, name: "sorted-sets", data: "sorted-sets", reads: 0.9, rate: 1_200 } as const];
      const workload = {
        name: undefined,
        tests: [],
        clients: 12,
        pipeline: 1,
        dataSize: 32,
        threads: 1,
        keySpace: 16_384,
        length: { seconds: 1 },
        warmup: 0,
        rate: undefined,
      };
      const runner = new LocalValkeyBenchmarkDriver({
        run,
        benchmark: programs.benchmark,
        features: await detectFeatures(programs.benchmark),
        serversHere: true,
      });
      await runMeasurements(
        { deployments: contenders, workload, mixedWorkloads: mixes, repeats: 1 },
        { valkeyBenchmark: runner, ...mixedLoadDrivers(run, true, mixes), signal: never },
        {
          progress: () => undefined,
          raw: (heading, text) => {
            raw.push(heading, text);
          },
          referenceLoad: () => undefined,
          record: (record) => {
            records.push(record);
          },
        },
      );
      expect(records.map(({ deployment, test, loadGenerator }) => `${deployment} ${test} ${loadGenerator}`)).toEqual([
        "replication mixed memtier",
        "cluster mixed memtier",
        "replication sorted-sets memtier",
        "cluster sorted-sets memtier",
      ]);
      for (const record of records) {
        const { id, client, servers, rate } = record;
        expect(servers?.hitRatio, id).toBe(1);
        // memtier_benchmark does not count requests in flight at its end.
        expect(Math.abs((servers?.calls ?? 0) / client.requests - 1), id).toBeLessThan(0.01);
        expect((servers?.hits ?? 0) / (servers?.calls ?? 1), id).toBeCloseTo(rate === null ? 0.8 : 0.9, 1);
        expect(histogramOf(record).count, id).toBe(client.requests);
        if (rate !== null) expect(Math.abs(client.rps / rate - 1), id).toBeLessThan(0.25);
      }
      for (const deployment of deployments) expect(raw.join("\n")).not.toContain(deployment.access.password);
    }, 60_000);
  },
);
