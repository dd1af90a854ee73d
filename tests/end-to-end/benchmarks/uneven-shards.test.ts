/** Measurements of a cluster whose shards serve different numbers of slots: which share of the load each receives. */
import { expect, it } from "vitest";
import { runMeasurements } from "../../../benchmarks/measuring/run-measurements";
import { localLoadDrivers } from "../../../benchmarks/measuring/local-load-drivers";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import type { ValkeyBenchmarkWorkload } from "../../../benchmarks/workloads/mixed-workload";
import { verify } from "../../../valkey/verification/verify";
import { MIX } from "../../support/benchmarks/open-loop";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, failing, never } from "../../support/valkey/real";

const sandbox = useSandbox();

it("shares are compared with the slots, and a load that ignores the slots has a warning", async () => {
  const deployment = await sandbox.formedCluster("uneven", 3, 1);
  const [from = 0, to = 0] = (await verify(deployment)).verdict.shards.map(({ primary }) =>
    deployment.nodes.findIndex(({ name }) => name === primary),
  );
  const receiver = String(await callNode(deployment, to, "CLUSTER", "MYID"));
  await callNode(deployment, from, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", 61, 5460, "NODE", receiver);
  await eventually("the slots have moved", async () => {
    const { shards } = (await verify(deployment)).verdict;
    return shards[0]?.slots[0]?.to === 60 && (await failing(deployment)).length === 0;
  });
  const { shards } = (await verify(deployment)).verdict;
  const { run, programs } = sandbox.host;
  const open = { ...MIX, name: "by-slots", keys: { distribution: "uniform" } } as const;
  const fromReplicas: ValkeyBenchmarkWorkload = {
    ...{ loadGenerator: "valkey-benchmark", name: "from-replicas", data: "strings", reads: 1, readFrom: "replica" },
    ...{ clients: 12, pipeline: 1, dataSize: 32, threads: 1, keySpace: 16_384 },
    ...{ length: { seconds: 1 }, warmup: 0, rate: 3_000 },
  };
  const records: MeasurementRecord[] = [];
  await runMeasurements(
    {
      deployments: [{ deployment, shards }],
      workload: {
        ...{ name: undefined, tests: ["get"], clients: 12, pipeline: 1, dataSize: 32, threads: 1, keySpace: 16_384 },
        ...{ length: { seconds: 1 }, warmup: 0, rate: 3_000 },
      },
      mixedWorkloads: [open, fromReplicas],
      repeats: 1,
      referenceRate: 1,
    },
    {
      ...(await localLoadDrivers({ run, benchmark: programs.benchmark, serversHere: true }, [open])),
      signal: never,
    },
    {
      progress: () => undefined,
      raw: () => undefined,
      record: (record) => void records.push(record),
      referenceLoad: () => undefined,
    },
  );
  const warnings = records.map(({ test, warnings: all }) => [
    test,
    all.find(({ code }) => code === "uneven-shares")?.text,
  ]);
  const equal: unknown = expect.stringMatching(
    /the shard of uneven-\d received 3\d(\.\d)? % of the calls instead of 0\.4 %.*; valkey-benchmark gives each shard an equal/,
  );
  expect(Object.fromEntries(warnings)).toEqual({ get: equal, "by-slots": undefined, "from-replicas": equal });
}, 120_000);
