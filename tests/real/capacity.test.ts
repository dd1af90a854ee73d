/** The capacity of a server over one connection: found between loads that held and loads that did not, with all its points. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseObjective } from "../../benchmarks/capacity/objective";
import { measureCapacities } from "../../benchmarks/capacity/measure-capacity";
import type { Deployment } from "../../benchmarks/deployment";
import { LocalOpenLoop } from "../../benchmarks/open-loop/local-runner";
import type { CapacityRecord } from "../../benchmarks/results/schema";
import { verify } from "../../benchmarks/verification/verify";
import { never, Sandbox } from "../support/real";

let sandbox: Sandbox;
let alone: Deployment;
beforeAll(async () => {
  sandbox = await Sandbox.open();
  alone = await sandbox.replication("alone", 0);
});
afterAll(() => sandbox.close());

describe("the capacity", () => {
  it("lies between loads that held and loads that did not, whatever the machine", async () => {
    const { verdict } = await verify(alone);
    const found: CapacityRecord[] = [];
    // One connection, one large write at a time: its limit is within reach of a busy machine.
    const mix = { driver: "open-loop", name: "batches", data: "strings", reads: 0, keySpace: 100, clients: 1, pipeline: 1, length: { seconds: 0.7 }, warmup: 0, rate: 1, arrivals: "fixed", keys: { distribution: "uniform" }, values: { sizes: "fixed", bytes: 20_000 }, readFrom: "primary", workers: 1, timeoutMs: 2_000, queue: 100_000 } as const;
    await measureCapacities(
      { contenders: [{ deployment: alone, shards: verdict.shards }], mix, objective: parseObjective("p90=30ms"), search: { start: 500, most: 256_000, precision: 0.5, confirmations: 1 } },
      { openLoop: new LocalOpenLoop({ run: sandbox.host.run, serversHere: true }), signal: never },
      () => undefined,
      (capacity) => { found.push(capacity); },
    );
    expect(found).toHaveLength(1);
    const [{ capacity, points, limit, isOpenEnded }] = found as [CapacityRecord];
    expect(capacity).toBeGreaterThan(100);
    expect(isOpenEnded).toBe(false);
    expect(limit).not.toBeNull();
    const there = points.find(({ rate }) => rate === capacity);
    expect(there?.held).toBeGreaterThan(0);
    // What was found is what the points say: held there, and not at some load above.
    expect(points.some(({ rate, held, probes }) => rate > capacity && held < probes)).toBe(true);
    expect(points.map(({ rate }) => rate)).toEqual(points.map(({ rate }) => rate).sort((a, b) => a - b));
  }, 90_000);
});
