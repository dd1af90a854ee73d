/** memtier_benchmark on real servers of both modes, where the machine has it: reads are hits, and all counts agree. */
import { describe, expect, it } from "vitest";
import { BadInput } from "../../../lib/errors";
import { findMemtier } from "../../../benchmarks/measuring/local-load-drivers";
import { histogramOf } from "../../../benchmarks/results/rows";
import type { MemtierWorkload } from "../../../benchmarks/workloads/mixed-workload";
import { useMeasuredDeployments } from "../../support/benchmarks/measuring";

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
    const pair = useMeasuredDeployments();

    it("sends the configured load to existing keys, and its histogram holds every request", async () => {
      const mixes = [MIX, { ...MIX, name: "sorted-sets", data: "sorted-sets", reads: 0.9, rate: 1_200 } as const];
      const { records, raw } = await pair.measure({ pipeline: 1 }, { mixes });
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
      for (const { deployment } of pair.contenders) expect(raw.join("\n")).not.toContain(deployment.access.password);
    }, 60_000);
  },
);
