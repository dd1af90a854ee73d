/** The capacity of a real server over one connection. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { measureCapacity } from "../../../benchmarks/capacity/measure-capacity";
import { parseObjective } from "../../../benchmarks/capacity/objective";
import { LocalOpenLoopRunner } from "../../../benchmarks/load/open-loop/local-runner";
import type { Deployment } from "../../../valkey/deployment";
import { verify } from "../../../valkey/verification/verify";
import { BATCHES } from "../../support/benchmarks/batches";
import { never, Sandbox } from "../../support/valkey/real";

let sandbox: Sandbox;
let alone: Deployment;
beforeAll(async () => {
  sandbox = await Sandbox.open();
  alone = await sandbox.replication("alone", 0);
});
afterAll(() => sandbox.close());

describe("the capacity", () => {
  it("lies between loads that hold and loads that do not", async () => {
    const { verdict } = await verify(alone);
    const { capacity, points, bottleneck, isOpenEnded } = await measureCapacity(
      {
        deployment: { deployment: alone, shards: verdict.shards },
        workload: BATCHES,
        objective: parseObjective("p90=30ms"),
        search: { initialRate: 500, maxRate: 256_000, precision: 0.5, confirmations: 1 },
      },
      { openLoop: new LocalOpenLoopRunner({ run: sandbox.host.run, serversHere: true }), signal: never },
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
