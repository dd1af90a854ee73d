/** Where the capacity of real servers stands in a measurement. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseObjective } from "../../../benchmarks/capacity/objective";
import type { Deployment } from "../../../valkey/deployment";
import { LocalValkeyBenchmarkRunner } from "../../../benchmarks/load/valkey-benchmark/local-runner";
import { measureAll } from "../../../benchmarks/measuring/measure-all";
import { LocalOpenLoopRunner } from "../../../benchmarks/load/open-loop/local-runner";
import { Artifacts } from "../../../benchmarks/results/artifacts";
import { ResultsCollector } from "../../../benchmarks/results/collector";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/features";
import { verify } from "../../../valkey/verification/verify";
import { requestMixOf } from "../../../benchmarks/workloads/mixed-workload";
import { BATCHES } from "../../support/benchmarks/batches";
import { workload } from "../../support/benchmarks/tool-runs";
import { never, Sandbox, withNode } from "../../support/valkey/real";

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
      const runner = new LocalValkeyBenchmarkRunner({
        run,
        benchmark: programs.benchmark,
        features: await detectFeatures(programs.benchmark),
        serversHere: true,
      });
      await measureAll(
        plan,
        { valkeyBenchmark: runner, openLoop: new LocalOpenLoopRunner({ run, serversHere: true }), signal: never },
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
});
