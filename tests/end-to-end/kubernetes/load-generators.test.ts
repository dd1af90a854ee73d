/**
 * Mixed workloads from Jobs with sidecars: the load generators and the servers count the same, and nothing is left
 * behind.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { measureCapacity } from "../../../benchmarks/capacity/measure-capacity";
import { form } from "../../../valkey/formation/form";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { JOB_LABELS } from "../../../benchmarks/load/jobs/job-plan";
import { type PodDeployment, awaitPodDeployment } from "../../../platforms/kubernetes/deployment";
import { JobLoadDriver, ValkeyBenchmarkJobDriver } from "../../../benchmarks/load/jobs/job-driver";
import { memtierInJobs, openLoopInJobs } from "../../../benchmarks/load/jobs/load-generators";
import { formatLabelSelector } from "../../../platforms/kubernetes/pods/running-pods";
import { runMeasurements } from "../../../benchmarks/measuring/run-measurements";
import type { VerifiedDeployment } from "../../../benchmarks/measuring/session";
import { histogramOf } from "../../../benchmarks/results/rows";
import type { CapacityRecord, MeasurementRecord } from "../../../benchmarks/results/schema";
import { verify } from "../../../valkey/verification/verify";
import type { MemtierWorkload, MixedWorkload, OpenLoopWorkload } from "../../../benchmarks/workloads/mixed-workload";
import { applyServers, testServers } from "../../support/kubernetes/test-servers";
import { KUBECONFIG, ThrowAway, WHERE, openThrowAwayClient } from "../../support/kubernetes/throw-away";
import { workload } from "../../support/benchmarks/tool-runs";

const NODE = process.env["VALKEY_TEST_NODE_IMAGE"];
const MEMTIER = process.env["VALKEY_TEST_MEMTIER_IMAGE"];
const WHY =
  NODE === undefined && MEMTIER === undefined
    ? " (skipped: neither VALKEY_TEST_NODE_IMAGE nor VALKEY_TEST_MEMTIER_IMAGE is set)"
    : "";

const RUNNERS = 2;
const common = { keySpace: 16_384, clients: 6, pipeline: 1, length: { seconds: 3 }, warmup: 1 } as const;
const STEADY: OpenLoopWorkload = {
  ...common,
  loadGenerator: "open-loop",
  name: "steady",
  data: "strings",
  reads: 0.8,
  rate: 2_001,
  arrivals: "fixed",
  keys: { distribution: "uniform" },
  values: { sizes: "fixed", bytes: 64 },
  readFrom: "primary",
  workers: 1,
  timeoutMs: 20_000,
  queue: 10_000,
};
const SORTED_SETS: MemtierWorkload = {
  ...common,
  loadGenerator: "memtier",
  name: "sorted-sets",
  data: "sorted-sets",
  reads: 0.9,
  dataSize: 16,
  threads: 1,
  rate: undefined,
};

describe.skipIf(KUBECONFIG === undefined || WHY !== "")(
  `mixed workloads from Jobs${WHERE}${WHY}`,
  { timeout: 240_000 },
  () => {
    const timeoutMs = 120_000;
    const signal = new AbortController().signal;
    let kubernetes: KubernetesClient;
    let here: ThrowAway;
    const deployments: PodDeployment[] = [];
    let contenders: readonly VerifiedDeployment[];
    beforeAll(async () => {
      kubernetes = await openThrowAwayClient();
      here = await ThrowAway.open();
      const all = [
        testServers({ name: "replication", mode: "replication", shape: { primaries: 1, replicasPerPrimary: 0 } }),
        testServers({
          name: "cluster",
          shape: { primaries: 3, replicasPerPrimary: 0 },
          spreadOver: "kubernetes.io/os",
        }),
      ];
      for (const servers of all) {
        const deployment = await awaitPodDeployment(kubernetes, await applyServers(here, servers), {
          timeoutMs,
        });
        await form(deployment, servers.shape);
        deployments.push(deployment);
      }
      contenders = await Promise.all(
        deployments.map(async (deployment) => ({ deployment, shards: (await verify(deployment)).verdict.shards })),
      );
    });
    afterAll(() => here.close());

    async function measure(mix: MixedWorkload): Promise<readonly MeasurementRecord[]> {
      const options = {
        plan: { runners: RUNNERS, sharing: true, images: { node: NODE, memtier: MEMTIER } },
        deployments,
        timeoutMs,
      };
      const runner = await ValkeyBenchmarkJobDriver.open(kubernetes, options, signal);
      const records: MeasurementRecord[] = [];
      const equipment = {
        valkeyBenchmark: runner,
        openLoop: new JobLoadDriver(kubernetes, options, openLoopInJobs(NODE)),
        memtier: new JobLoadDriver(kubernetes, options, memtierInJobs(MEMTIER)),
        signal,
      };
      await runMeasurements(
        { deployments: contenders, workload: workload({ tests: [] }), mixedWorkloads: [mix], repeats: 1 },
        equipment,
        {
          progress: () => undefined,
          raw: () => undefined,
          referenceLoad: () => undefined,
          record: (record) => {
            records.push(record);
          },
        },
      );
      return records;
    }

    async function leftOvers(): Promise<string[]> {
      const selector = { namespace: here.namespace, labelSelector: formatLabelSelector(JOB_LABELS) };
      const found = await Promise.all([
        kubernetes.batch.listNamespacedJob(selector),
        kubernetes.core.listNamespacedSecret(selector),
        kubernetes.core.listNamespacedConfigMap(selector),
      ]);
      return found.flatMap(({ items }) =>
        items.flatMap(({ metadata }) => (metadata?.deletionTimestamp === undefined ? [metadata?.name ?? ""] : [])),
      );
    }

    it.skipIf(NODE === undefined)(
      "are offered at their rate by two runners, and the servers count the same requests",
      async () => {
        const records = await measure(STEADY);
        expect(records.map(({ deployment }) => deployment)).toEqual(["replication", "cluster"]);
        for (const record of records) {
          const { id, client, servers, offering, runners, cpu } = record;
          expect(runners, id).toHaveLength(RUNNERS);
          expect(Math.abs((offering?.offered ?? 0) / (STEADY.rate * STEADY.length.seconds) - 1), id).toBeLessThan(0.01);
          expect(histogramOf(record).count, id).toBe(client.requests);
          expect(servers?.calls, id).toBe(client.requests);
          expect(servers?.hitRatio, id).toBe(1);
          expect(Math.abs(servers?.disagreement ?? 1), id).toBeLessThan(0.02);
          expect(cpu.client, id).toBeGreaterThan(0);
        }
        expect(await leftOvers()).toEqual([]);
      },
    );

    it.skipIf(NODE === undefined)(
      "are offered at rising rates by a capacity search, up to the maximum rate",
      async () => {
        const options = { plan: { runners: 1, sharing: true, images: { node: NODE } }, deployments, timeoutMs };
        const found: CapacityRecord[] = [];
        const mix = { ...STEADY, rate: 1, length: { seconds: 2 }, warmup: 0 };
        for (const deployment of contenders) {
          const measurement = {
            deployment,
            workload: mix,
            objective: { quantile: 0.5, ms: 2000 },
            search: { initialRate: 200, maxRate: 400, precision: 1, confirmations: 1 },
          };
          const openLoop = new JobLoadDriver(kubernetes, options, openLoopInJobs(NODE));
          found.push(await measureCapacity(measurement, { openLoop, signal }, () => undefined));
        }
        expect(found.map(({ deployment, capacity, isOpenEnded }) => [deployment, capacity, isOpenEnded])).toEqual([
          ["replication", 400, true],
          ["cluster", 400, true],
        ]);
        for (const { points } of found) {
          expect(points.map(({ rate }) => rate)).toEqual([200, 400]);
          for (const { rate, achieved } of points) expect(Math.abs(achieved / rate - 1)).toBeLessThan(0.05);
        }
        expect(await leftOvers()).toEqual([]);
      },
    );

    it.skipIf(MEMTIER === undefined)(
      "are sent by memtier_benchmark in two runners, whose histograms are merged",
      async () => {
        for (const record of await measure(SORTED_SETS)) {
          const { id, client, servers, runners } = record;
          expect(
            runners.map(({ requests }) => requests).reduce((sum, each) => sum + each, 0),
            id,
          ).toBe(client.requests);
          expect(histogramOf(record).count, id).toBe(client.requests);
          expect(Math.abs((servers?.calls ?? 0) / client.requests - 1), id).toBeLessThan(0.01);
          expect((servers?.hits ?? 0) / (servers?.calls ?? 1), id).toBeCloseTo(0.9, 1);
          expect(Math.abs(servers?.disagreement ?? 1), id).toBeLessThan(0.05);
        }
        expect(await leftOvers()).toEqual([]);
      },
    );
  },
);
