/** Capacities of real servers over one connection. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseObjective } from "../../../benchmarks/capacity/objective";
import { measureCapacity } from "../../../benchmarks/capacity/measure-capacity";
import type { Deployment } from "../../../valkey/deployment";
import { LocalValkeyBenchmarkDriver } from "../../../benchmarks/load/valkey-benchmark/local-driver";
import { measureAll } from "../../../benchmarks/run/measure-all";
import { LocalOpenLoopDriver } from "../../../benchmarks/load/open-loop/local-driver";
import { Artifacts } from "../../../benchmarks/run/artifacts";
import { ResultsCollector } from "../../../benchmarks/run/collector";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/features";
import { verify } from "../../../valkey/verification/verify";
import { requestMixOf } from "../../../benchmarks/workloads/mixed-workload";
import { never, Sandbox, withNode } from "../../support/valkey/real";
import { workload } from "../../support/benchmarks/tool-runs";

/** One connection with one large write at a time: even a busy machine reaches its limit. */
const BATCHES = {
  loadGenerator: "open-loop",
  name: "batches",
  data: "strings",
  reads: 0,
  keySpace: 100,
  clients: 1,
  pipeline: 1,
  length: { seconds: 0.7 },
  warmup: 0,
  rate: 1,
  arrivals: "fixed",
  keys: { distribution: "uniform" },
  values: { sizes: "fixed", bytes: 20_000 },
  readFrom: "primary",
  workers: 1,
  timeoutMs: 2_000,
  queue: 100_000,
} as const;

let sandbox: Sandbox;
let alone: Deployment;
beforeAll(async () => {
  sandbox = await Sandbox.open();
  alone = await sandbox.replication("alone", 0);
});
afterAll(() => sandbox.close());

describe("the capacity", () => {
  it("is measured after everything else when a plan asks for it", async () => {
    const directory = mkdtempSync(join(tmpdir(), "capacity-test-"));
    try {
      const collector = new ResultsCollector(
        Artifacts.open(directory, "20000101-000000", undefined, () => ""),
        { timestamp: "20000101-000000", stack: "x", configuration: {} },
      );
      const { run, programs } = sandbox.host;
      const mix = {
        ...BATCHES,
        length: { seconds: 0.5 },
        clients: 4,
        rate: 100,
        values: { sizes: "fixed", bytes: 10 },
      } as const;
      const second = await sandbox.replication("second", 0);
      const verified = await Promise.all(
        [alone, second].map(async (deployment) => ({ deployment, verification: await verify(deployment) })),
      );
      const plan = {
        verified,
        workload: workload({ tests: [] }),
        mixedWorkloads: [mix],
        repeats: 1,
        capacity: {
          workload: mix,
          objective: parseObjective("p50=2s"),
          search: { initialRate: 50, maxRate: 100, precision: 1, confirmations: 1 },
        },
      };
      const runner = new LocalValkeyBenchmarkDriver({
        run,
        benchmark: programs.benchmark,
        features: await detectFeatures(programs.benchmark),
        serversHere: true,
      });
      await measureAll(
        plan,
        { valkeyBenchmark: runner, openLoop: new LocalOpenLoopDriver({ run, serversHere: true }), signal: never },
        collector,
        () => undefined,
      );
      const { records, capacities, referenceLoads } = collector.finish(null);
      expect(records.map(({ deployment, test }) => `${test} ${deployment}`)).toEqual([
        "batches alone",
        "batches second",
      ]);
      // Before each round and after the last, before each search and after the last.
      expect(referenceLoads.map(({ round }) => round)).toEqual([1, 2, 3, 4, 5]);
      for (const { rps } of referenceLoads) expect(rps).toBeGreaterThan(1000);
      // All reference loads go to the first deployment.
      const pings = async (deployment: Deployment): Promise<number> =>
        withNode(deployment, 0, async (connection) =>
          Number(/cmdstat_ping:calls=(\d+)/.exec(await connection.info("commandstats"))?.[1] ?? 0),
        );
      expect(await pings(alone)).toBeGreaterThan(5000);
      expect(await pings(second)).toBeLessThan(100);
      expect(capacities).toMatchObject([
        {
          round: 3,
          deployment: "alone",
          workload: "batches",
          capacity: 100,
          isOpenEnded: true,
          load: {
            requestMix: requestMixOf(mix),
            runners: 1,
            dataSize: 10,
            clients: 4,
            pipeline: BATCHES.pipeline,
            arrivals: BATCHES.arrivals,
          },
        },
        { round: 4, deployment: "second" },
      ]);
      expect(capacities[0]?.points.map(({ rate }) => rate)).toEqual([50, 100]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  }, 60_000);

  it("lies between loads that hold and loads that do not", async () => {
    const { verdict } = await verify(alone);
    const { capacity, points, bottleneck, isOpenEnded } = await measureCapacity(
      {
        deployment: { deployment: alone, shards: verdict.shards },
        workload: BATCHES,
        objective: parseObjective("p90=30ms"),
        search: { initialRate: 500, maxRate: 256_000, precision: 0.5, confirmations: 1 },
      },
      { openLoop: new LocalOpenLoopDriver({ run: sandbox.host.run, serversHere: true }), signal: never },
      () => undefined,
    );
    expect(capacity).toBeGreaterThan(100);
    expect(isOpenEnded).toBe(false);
    expect(bottleneck).not.toBeNull();
    const there = points.find(({ rate }) => rate === capacity);
    expect(there?.held).toBeGreaterThan(0);
    // The points confirm it: the objective held there, and failed at some higher load.
    expect(points.some(({ rate, held, probes }) => rate > capacity && held < probes)).toBe(true);
    expect(points.map(({ rate }) => rate)).toEqual(points.map(({ rate }) => rate).sort((a, b) => a - b));
  }, 90_000);
});
