import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolveTests, TEST_NAMES } from "../../../benchmarks/workloads/named-tests";
import { dataBytes, adjustKeySpace, adjustedLoad, unevenSettings } from "../../../benchmarks/workloads/workload";
import { workload } from "../../support/benchmarks/tool-runs";
import { forAll } from "../../support/properties";

/** valkey-benchmark's own rule (createClient): connection i belongs to thread i mod T and to this primary. */
function connectionsPerPrimary(clients: number, threads: number, primaries: number): number[] {
  const counts = new Array<number>(primaries).fill(0);
  for (let i = 0; i < clients; i++) {
    const primary = threads < primaries ? i % primaries : (i % threads) % primaries;
    counts[primary] = (counts[primary] ?? 0) + 1;
  }
  return counts;
}

const numbers = fc.tuple(
  fc.integer({ min: 1, max: 200 }),
  fc.integer({ min: 1, max: 24 }),
  fc.integer({ min: 3, max: 12 }),
);

describe("uneven settings", () => {
  it("are absent only when every primary has as many connections as any other", () => {
    forAll([numbers], ([clients, threads, primaries]) => {
      const counts = connectionsPerPrimary(clients, threads, primaries);
      if (unevenSettings(clients, threads, primaries).length === 0) expect(new Set(counts).size).toBe(1);
    });
  });

  it("come with the nearest values that are even", () => {
    forAll([numbers], ([clients, threads, primaries]) => {
      for (const { setting, nearest } of unevenSettings(clients, threads, primaries)) {
        for (const offered of nearest) {
          const again =
            setting === "clients"
              ? unevenSettings(offered, threads, primaries)
              : unevenSettings(clients, offered, primaries);
          expect(again.filter((fault) => fault.setting === setting)).toEqual([]);
          expect(offered).toBeGreaterThan(0);
        }
      }
    });
  });

  it('include the flags of "Valkey on EKS": 50 clients on 4 threads over 3 primaries', () => {
    expect(connectionsPerPrimary(50, 4, 3)).toEqual([25, 13, 12]);
    expect(unevenSettings(50, 4, 3)).toEqual([
      { setting: "threads", why: "4 threads cannot be shared evenly by 3 primaries", nearest: [3, 6] },
      { setting: "clients", why: "50 clients cannot be shared evenly by 3 primaries and 4 threads", nearest: [48, 52] },
    ]);
  });
});

describe("the key space", () => {
  it("is the nearest that a cluster can have exactly, and unchanged without a cluster", () => {
    expect(adjustKeySpace(1_000_000, true)).toBe(61 * 16_384);
    expect(adjustKeySpace(1, true)).toBe(16_384);
    expect(adjustKeySpace(1_000_000, false)).toBe(1_000_000);
  });

  it("takes memory for more than the values", () => {
    const perEntry = dataBytes(workload({ tests: [], dataSize: 64, keySpace: 1_000_000 }), 1, 1) / 1_000_000;
    // Measured with SETEX at 64 B: 138 to 156 bytes. An estimate must not be lower, nor much higher.
    expect(perEntry).toBeGreaterThan(156);
    expect(perEntry).toBeLessThan(250);
  });
});

describe("resolveTests", () => {
  it("resolves names in any case, aliases and repetitions", () => {
    expect(resolveTests(["SET", " get ", "set", "ping"])).toEqual({
      tests: ["set", "get", "ping_inline", "ping_mbulk"],
      unknown: [],
    });
    expect(resolveTests(["lrange"]).tests).toEqual(["lrange_100", "lrange_300", "lrange_500", "lrange_600"]);
    expect(resolveTests(["sett"])).toEqual({ tests: [], unknown: ["sett"] });
  });

  it("covers every test that valkey-benchmark names", () => {
    const [pop, range] = [
      "lpush rpush lpop rpop sadd hset spop zadd zpopmin",
      "lrange_100 lrange_300 lrange_500 lrange_600",
    ];
    expect(TEST_NAMES.join(" ")).toBe(
      `ping_inline ping_mbulk set get incr ${pop} ${range} mset mget xadd function_load fcall`,
    );
  });
});

describe("adjustedLoad", () => {
  it("keeps even numbers, and finds the nearest otherwise", () => {
    expect(adjustedLoad(48, 3, [3])).toEqual({ clients: 48, threads: 3 });
    // The flags of "Valkey on EKS" over three primaries; those of "One billion requests per second" at its own size and
    // others.
    expect(adjustedLoad(50, 4, [3])).toEqual({ clients: 51, threads: 3 });
    expect(adjustedLoad(1000, 20, [1000])).toEqual({ clients: 1000, threads: 20 });
    expect(adjustedLoad(1000, 20, [300])).toEqual({ clients: 900, threads: 20 });
    expect(adjustedLoad(1000, 20, [])).toEqual({ clients: 1000, threads: 20 });
  });

  it("finds near and even numbers for up to 1,000 primaries", () => {
    forAll([fc.integer({ min: 3, max: 1000 })], (primaries) => {
      const { clients, threads } = adjustedLoad(1000, 20, [primaries]);
      expect(unevenSettings(clients, threads, primaries)).toEqual([]);
      expect(clients).toBeGreaterThanOrEqual(750);
      expect(clients).toBeLessThanOrEqual(1500);
      expect(threads).toBeLessThanOrEqual(20);
    });
  });
});
