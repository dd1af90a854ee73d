import type { V1Eviction, V1Job } from "@kubernetes/client-node";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withConnections } from "../../../valkey/connections";
import { form } from "../../../valkey/formation/form";
import type { KubernetesClient } from "../../../platforms/kubernetes/api/client";
import { type PodDeployment, awaitPodDeployment } from "../../../platforms/kubernetes/deployment";
import { ValkeyBenchmarkJobDriver } from "../../../benchmarks/load/jobs/job-driver";
import type { Plain } from "../../../platforms/kubernetes/api/plain";
import { formatLabelSelector } from "../../../platforms/kubernetes/pods/running-pods";
import { JOB_LABELS } from "../../../benchmarks/load/jobs/job-plan";
import { runMeasurements } from "../../../benchmarks/measuring/run-measurements";
import type { VerifiedDeployment } from "../../../benchmarks/measuring/session";
import type { ReferenceLoadRecord, MeasurementRecord } from "../../../benchmarks/results/schema";
import { verify } from "../../../valkey/verification/verify";
import type { Workload } from "../../../benchmarks/workloads/workload";
import { type TestServers, applyServers, testServers } from "../../support/kubernetes/test-servers";
import { KUBECONFIG, ThrowAway, WHERE, openThrowAwayClient } from "../../support/kubernetes/throw-away";
import { workload } from "../../support/benchmarks/tool-runs";

interface Measured {
  readonly records: readonly MeasurementRecord[];
  readonly referenceLoads: readonly ReferenceLoadRecord[];
  readonly raw: readonly string[];
}

describe.skipIf(KUBECONFIG === undefined)(`load from a Job${WHERE}`, { timeout: 240_000 }, () => {
  const timeoutMs = 120_000;
  let kubernetes: KubernetesClient;
  let here: ThrowAway;
  beforeAll(async () => {
    kubernetes = await openThrowAwayClient();
    here = await ThrowAway.open();
  });
  afterAll(() => here.close());

  async function deploy(
    changes: Partial<TestServers>,
  ): Promise<{ readonly deployment: PodDeployment; readonly contender: VerifiedDeployment }> {
    const servers = testServers(changes);
    const deployment = await awaitPodDeployment(kubernetes, await applyServers(here, servers), { timeoutMs });
    await form(deployment, servers.shape);
    const { verdict } = await verify(deployment);
    return { deployment, contender: { deployment, shards: verdict.shards } };
  }

  async function measureBy(
    runner: ValkeyBenchmarkJobDriver,
    contenders: readonly VerifiedDeployment[],
    load: Workload,
    signal: AbortSignal,
    onProgress: (line: string) => void = () => undefined,
  ): Promise<Measured> {
    const records: MeasurementRecord[] = [];
    const referenceLoads: ReferenceLoadRecord[] = [];
    const raw: string[] = [];
    await runMeasurements(
      { deployments: contenders, workload: load, repeats: 1 },
      { valkeyBenchmark: runner, signal },
      {
        progress: onProgress,
        referenceLoad: (referenceLoad) => referenceLoads.push(referenceLoad),
        record: (record) => records.push(record),
        raw: (heading) => raw.push(heading),
      },
    );
    return { records, referenceLoads, raw };
  }

  async function leftOvers(deployment: PodDeployment): Promise<string[]> {
    const selector = { namespace: here.namespace, labelSelector: formatLabelSelector(JOB_LABELS) };
    const [jobs, secrets] = await Promise.all([
      kubernetes.batch.listNamespacedJob(selector),
      kubernetes.core.listNamespacedSecret(selector),
    ]);
    const alive = jobs.items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
    const onServers = await withConnections(deployment, async (connections) => {
      const found = await Promise.all(
        [...connections.values()].map(async (connection) => [
          ...((await connection.call("ACL", "USERS")) as string[]),
          ...(await connection.keys("bench-*")),
        ]),
      );
      return found.flat().filter((name) => name !== "default");
    });
    return [...[...alive, ...secrets.items].map(({ metadata }) => metadata?.name ?? ""), ...onServers];
  }

  describe("on machines of its own", () => {
    let replication: { readonly deployment: PodDeployment; readonly contender: VerifiedDeployment };
    let runner: ValkeyBenchmarkJobDriver;
    const going = new AbortController().signal;
    beforeAll(async () => {
      replication = await deploy({
        name: "replication",
        mode: "replication",
        shape: { primaries: 1, replicasPerPrimary: 2 },
      });
      runner = await ValkeyBenchmarkJobDriver.open(
        kubernetes,
        { plan: { runners: 2, sharing: false }, deployments: [replication.deployment], timeoutMs },
        going,
      );
    });

    it("reads the options of valkey-benchmark in the image", () => {
      expect(runner.features).toEqual({ duration: true, rate: true, readFrom: true });
    });

    it("adds the results of two runners with different seeds, and counts what the servers count", async () => {
      const load = workload({
        tests: ["set", "get"],
        clients: 12,
        pipeline: 4,
        keySpace: 10_000,
        length: { seconds: 3 },
        warmup: 1,
      });
      const { records, referenceLoads, raw } = await measureBy(runner, [replication.contender], load, going);
      expect(referenceLoads).toHaveLength(2);
      expect(records.map(({ title }) => title)).toEqual(["SET", "GET"]);
      const servers = new Set(replication.deployment.nodes.map(({ machine }) => machine));
      for (const { client, servers: counted, runners, warnings, seed, cpu } of records) {
        expect(runners).toHaveLength(2);
        expect(new Set(runners.map((each) => each.seed))).toEqual(new Set([seed, seed + 1]));
        expect(runners.filter(({ machine }) => servers.has(machine))).toEqual([]);
        expect(client.requests).toBe(runners.reduce((sum, { requests }) => sum + requests, 0));
        expect(client.rps).toBeCloseTo(
          runners.reduce((sum, { rps }) => sum + rps, 0),
          3,
        );
        const underWay = client.requests - (client.cumulative.at(-1)?.count ?? 0);
        expect(underWay).toBeGreaterThanOrEqual(0);
        expect(underWay).toBeLessThanOrEqual(2 * load.clients * load.pipeline);
        // Servers also execute requests in flight at the end of a runner.
        expect(counted).toMatchObject({ rejectedCalls: 0 });
        const unread = (counted?.calls ?? 0) - client.requests;
        expect(unread).toBeGreaterThanOrEqual(0);
        expect(unread).toBeLessThanOrEqual(2 * load.clients * load.pipeline);
        expect(Math.abs(counted?.disagreement ?? 1)).toBeLessThan(0.001);
        expect(cpu).toMatchObject({ serversHere: false, program: 0, clientLimit: 2 });
        expect(cpu.client).toBeGreaterThan(0);
        expect(warnings.map(({ code }) => code)).not.toContain("shared-machine");
      }
      expect(records[1]?.servers).toMatchObject({ hitRatio: 1, misses: 0, hits: records[1]?.servers?.calls });
      expect(
        raw.filter((heading) => heading.startsWith("round 1 of 1: GET on replication, warm-up, runner ")),
      ).toHaveLength(2);
      expect(await leftOvers(replication.deployment)).toEqual([]);
    });

    it("divides an odd number of requests", async () => {
      const { records } = await measureBy(
        runner,
        [replication.contender],
        workload({ tests: ["lpush"], pipeline: 1, length: { requests: 30_001 }, warmup: 0 }),
        going,
      );
      expect(records[0]?.runners.map(({ requests }) => requests)).toEqual([15_001, 15_000]);
      expect(records[0]?.servers?.calls).toBe(30_001);
    });

    it("measures again when a runner is evicted, and counts nothing of the first time", async () => {
      const load = workload({ tests: ["set"], length: { seconds: 8 }, warmup: 0 });
      const lines: string[] = [];
      const evictions: Promise<unknown>[] = [];
      const evictOne = async (): Promise<void> => {
        await sleep(5_000);
        const { items } = await kubernetes.core.listNamespacedPod({
          namespace: here.namespace,
          labelSelector: formatLabelSelector(JOB_LABELS),
        });
        const name = items.find(({ status }) => status?.phase === "Running")?.metadata?.name ?? "";
        const body: Plain<V1Eviction> = { metadata: { name, namespace: here.namespace } };
        await kubernetes.core.createNamespacedPodEviction({ name, namespace: here.namespace, body });
      };
      const began = Date.now();
      const { records } = await measureBy(runner, [replication.contender], load, going, (line) => {
        lines.push(line);
        if (line === "round 1 of 1: SET on replication" && evictions.length === 0) evictions.push(evictOne());
      });
      await Promise.all(evictions);
      expect(lines.filter((line) => line.includes("interrupted"))).toEqual([
        expect.stringMatching(/SET on replication: runner \d on .* was interrupted: .*; measuring it again$/),
      ]);
      expect(records).toHaveLength(1);
      expect(records[0]?.runners).toHaveLength(2);
      expect(records[0]?.runners.every(({ seconds }) => seconds > 7)).toBe(true);
      // No runner of the first time is left to send requests.
      const sent = records[0]?.runners.reduce((sum, { requests }) => sum + requests, 0) ?? 0;
      expect(Math.abs((records[0]?.servers?.calls ?? 0) / sent - 1)).toBeLessThan(0.001);
      // Its timeout is not waited for.
      expect(Date.now() - began).toBeLessThan(100_000);
      expect(await leftOvers(replication.deployment)).toEqual([]);
    });

    it("leaves nothing behind when it is stopped during a measurement", async () => {
      const stop = new AbortController();
      const load = workload({ tests: ["set"], length: { seconds: 60 }, warmup: 0 });
      let jobs: V1Job[] = [];
      const measured = measureBy(runner, [replication.contender], load, stop.signal, (line) => {
        if (line !== "round 1 of 1: SET on replication") return;
        void (async () => {
          await sleep(6_000);
          jobs = (await kubernetes.batch.listNamespacedJob({ namespace: here.namespace })).items;
          stop.abort(new Error("stopped by the test"));
        })();
      });
      await expect(measured).rejects.toThrow("stopped by the test");
      expect(jobs.filter(({ metadata }) => metadata?.deletionTimestamp === undefined)).toHaveLength(1);
      expect(JSON.stringify(jobs)).not.toContain(replication.deployment.access.password ?? "?");
      expect(await leftOvers(replication.deployment)).toEqual([]);
    });

    it("shows the output of a load generator that fails, and leaves nothing behind", async () => {
      const wrong = await ValkeyBenchmarkJobDriver.open(
        kubernetes,
        {
          plan: { runners: 2, sharing: false, resources: { requests: { memory: "1Mi" }, limits: { memory: "6Mi" } } },
          deployments: [replication.deployment],
          timeoutMs: 30_000,
        },
        going,
      )
        .then(
          (opened) =>
            measureBy(
              opened,
              [replication.contender],
              workload({ clients: 2000, pipeline: 1000, dataSize: 100_000, length: { seconds: 1 }, warmup: 0 }),
              going,
            ),
          (error: unknown) => Promise.reject(error as Error),
        )
        .catch((error: unknown) => error);
      expect(wrong).toBeInstanceOf(Error);
      expect((wrong as Error).message).toMatch(/memory limit is too small|failed/);
      expect(await leftOvers(replication.deployment)).toEqual([]);
    });
  });

  describe("where every machine has a server", () => {
    let everywhere: { readonly deployment: PodDeployment; readonly contender: VerifiedDeployment };
    const going = new AbortController().signal;
    beforeAll(async () => {
      const machines = (await kubernetes.core.listNode()).items.length;
      everywhere = await deploy({
        name: "everywhere",
        mode: "replication",
        shape: { primaries: 1, replicasPerPrimary: machines - 1 },
        spreadOver: "kubernetes.io/hostname",
      });
    });

    it("says that no machine is left, and what to change", async () => {
      const opened = ValkeyBenchmarkJobDriver.open(
        kubernetes,
        { plan: { runners: 1, sharing: false }, deployments: [everywhere.deployment], timeoutMs: 10_000 },
        going,
      );
      await expect(opened).rejects.toThrow(
        /anti-affinity rules.*; add machines, or allow load generators to share machines with the servers of everywhere \(every record then carries a warning\)$/,
      );
      expect(await leftOvers(everywhere.deployment)).toEqual([]);
    });

    it("shares machines where that is allowed, and warns in every record, as of machines that are not tuned as promised", async () => {
      const runner = await ValkeyBenchmarkJobDriver.open(
        kubernetes,
        {
          // No machine lets a process open so many files.
          plan: { runners: 1, sharing: true, tuning: { openFiles: 2 ** 40 } },
          deployments: [everywhere.deployment],
          timeoutMs,
        },
        going,
      );
      const { records } = await measureBy(
        runner,
        [everywhere.contender],
        workload({ length: { seconds: 1 }, warmup: 0 }),
        going,
      );
      expect(records).toHaveLength(1);
      expect(records[0]?.warnings).toContainEqual({
        code: "shared-machine",
        text: expect.stringMatching(/^1 of 1 runners shared machines with servers of the deployment \(\S+\)/) as string,
      });
      expect(records[0]?.warnings).toContainEqual({
        code: "machine-untuned",
        text: expect.stringMatching(/^\S+: .*may open \d+ files/) as string,
      });
    });
  });
});
