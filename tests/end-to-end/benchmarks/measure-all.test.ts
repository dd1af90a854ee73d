/** A plan with measurements and a search for the capacity, on real servers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseObjective } from "../../../benchmarks/capacity/objective";
import type { Deployment } from "../../../valkey/deployment";
import { LocalValkeyBenchmarkDriver } from "../../../benchmarks/load/valkey-benchmark/local-driver";
import { measureAll } from "../../../benchmarks/run/measure-all";
import { LocalOpenLoopDriver } from "../../../benchmarks/load/open-loop/local-driver";
import { Artifacts } from "../../../benchmarks/run/artifacts";
import { ResultsCollector } from "../../../benchmarks/run/collector";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/arguments";
import { verify } from "../../../valkey/verification/verify";
import { type OpenLoopWorkload, requestMixOf } from "../../../benchmarks/workloads/mixed-workload";
import { useSandbox } from "../../support/valkey/hooks";
import { never, withNode } from "../../support/valkey/real";
import { MIX } from "../../support/benchmarks/open-loop";
import { workload } from "../../support/benchmarks/tool-runs";

const sandbox = useSandbox();
const mix: OpenLoopWorkload = {
  ...MIX,
  ...{ name: "few", length: { seconds: 0.5 }, clients: 4, rate: 100 },
  values: { sizes: "fixed", bytes: 10 },
};

describe("a plan", () => {
  it("measures capacities after everything else, each deployment by itself", async () => {
    const directory = mkdtempSync(join(tmpdir(), "capacity-test-"));
    try {
      const collector = new ResultsCollector(
        Artifacts.open(directory, "20000101-000000", undefined, () => ""),
        { timestamp: "20000101-000000", stack: "x", configuration: {} },
      );
      const { run, programs } = sandbox.host;
      const [alone, second] = await Promise.all(["alone", "second"].map((name) => sandbox.replication(name, 0)));
      if (alone === undefined || second === undefined) throw new Error("there are no deployments");
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
      expect(records.map(({ deployment, test }) => `${test} ${deployment}`)).toEqual(["few alone", "few second"]);
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
          workload: "few",
          capacity: 100,
          isOpenEnded: true,
          load: {
            requestMix: requestMixOf(mix),
            runners: 1,
            dataSize: 10,
            clients: 4,
            pipeline: mix.pipeline,
            arrivals: mix.arrivals,
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
