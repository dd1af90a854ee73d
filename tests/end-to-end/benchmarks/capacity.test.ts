/** Capacities of real servers over one connection. */
import { beforeAll, describe, expect, it } from "vitest";
import { parseObjective } from "../../../benchmarks/capacity/objective";
import { measureCapacity } from "../../../benchmarks/capacity/measure-capacity";
import type { Deployment } from "../../../valkey/deployment";
import { LocalOpenLoopDriver } from "../../../benchmarks/load/open-loop/local-driver";
import { verify } from "../../../valkey/verification/verify";
import { useSandbox } from "../../support/valkey/hooks";
import { never } from "../../support/valkey/real";

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

const sandbox = useSandbox();
let alone: Deployment;
beforeAll(async () => {
  alone = await sandbox.replication("alone", 0);
});

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
