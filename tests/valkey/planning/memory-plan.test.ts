import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MemoryDemand } from "../../../valkey/planning/memory-plan";
import { describeMemory, memoryPlan, memoryProblem, withinMemory } from "../../../valkey/planning/memory-plan";
import { forAll } from "../../support/properties";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const demand = (changes: Partial<MemoryDemand> = {}): MemoryDemand => ({
  limitBytes: GIB,
  mode: "cluster",
  shape: { primaries: 3, replicasPerPrimary: 1 },
  settings: {},
  ...changes,
});
/** A cache without replicas, which never forks. */
const cache = demand({ mode: "replication", shape: { primaries: 1, replicasPerPrimary: 0 }, settings: { save: "" } });
const limits = fc.integer({ min: 1, max: 2 ** 40 });

describe("the division of a memory limit", () => {
  it("adds up to the limit, and never gives data more than the limit leaves", () => {
    forAll([limits, fc.constantFrom(demand(), cache)], (limitBytes, base) => {
      const { maxmemory, parts } = memoryPlan({ ...base, limitBytes });
      const reserved = parts.reduce((sum, { bytes }) => sum + bytes, 0);
      expect(parts.every(({ bytes }) => bytes >= 0)).toBe(true);
      expect(maxmemory).toBeGreaterThanOrEqual(0);
      if (maxmemory > 0) expect(maxmemory + reserved).toBe(limitBytes);
    });
  });

  it("grows with the limit, and shrinks with replicas, slots that move and children that are forked", () => {
    forAll([limits, fc.integer({ min: 0, max: 2 ** 35 })], (limitBytes, more) => {
      const of = (base: MemoryDemand, limit = limitBytes): number =>
        memoryPlan({ ...base, limitBytes: limit }).maxmemory;
      expect(of(demand(), limitBytes + more)).toBeGreaterThanOrEqual(of(demand()));
      expect(of({ ...cache, settings: {} })).toBeLessThanOrEqual(of(cache));
      expect(of({ ...cache, shape: demand().shape })).toBeLessThanOrEqual(of({ ...cache, settings: {} }));
      expect(of(demand())).toBeLessThanOrEqual(of({ ...cache, shape: demand().shape }));
    });
  });

  it("is told with its parts", () => {
    expect(describeMemory(memoryPlan(demand()))).toMatch(
      /^\d+ MiB of the memory limit of 1\.0 GiB; the rest is for program 16\.0 MiB, client buffers 32\.0 MiB, replication buffers 64\.0 MiB, slot migration 64\.0 MiB, pages copied during a save or a full synchronization \d+ MiB, fragmentation [\d.]+ MiB$/,
    );
    expect(memoryPlan(cache).parts.map(({ what }) => what)).toEqual(["program", "client buffers", "fragmentation"]);
  });

  it("cuts off a replica at the size that is set aside, where the server would do so later", () => {
    const limitOf = (changes: Partial<MemoryDemand>): unknown =>
      withinMemory(demand(changes))["client-output-buffer-limit"];
    expect(limitOf({})).toBe(`replica ${64 * MIB} ${64 * MIB} 60`);
    expect(limitOf({ limitBytes: 64 * MIB })).toBe(`replica ${16 * MIB} ${16 * MIB} 60`);
    expect(limitOf({ limitBytes: 4 * GIB })).toBeUndefined();
    // Another number of replicas must not restart servers.
    expect(limitOf({ shape: cache.shape })).toBe(limitOf({}));
    const others = { "client-output-buffer-limit": "pubsub 64mb 16mb 60" };
    expect(limitOf({ settings: others })).toBe(`pubsub 64mb 16mb 60 replica ${64 * MIB} ${64 * MIB} 60`);
    const own = { "client-output-buffer-limit": "replica 0 0 0", maxmemory: 5 };
    expect(withinMemory(demand({ settings: own }))).toEqual(own);
  });

  it("refuses what it does not carry, and no limit at all", () => {
    const { maxmemory } = memoryPlan(demand());
    const problem = (bytes: number | undefined, limitBytes = GIB): string | undefined =>
      memoryProblem(demand({ limitBytes, settings: { maxmemory: bytes } }));
    expect([undefined, maxmemory].map((bytes) => problem(bytes))).toEqual([undefined, undefined]);
    expect(problem(maxmemory + 1)).toMatch(
      /^\d+ MiB; expected at most \d+ MiB of the memory limit of 1\.0 GiB; the rest is/,
    );
    expect(problem(0)).toMatch(/^0, which means no limit; expected at most/);
    expect(problem(undefined, 20 * MIB)).toMatch(
      /^no data fits; maxmemory would be 0 B of the memory limit of 20\.0 MiB/,
    );
  });
});
