/** Every named test of valkey-benchmark, on real servers of both modes. */
import { describe, expect, it } from "vitest";
import { NAMED_TESTS, TEST_NAMES } from "../../../benchmarks/workloads/named-tests";
import { useMeasuredDeployments } from "../../support/benchmarks/measuring";

const pair = useMeasuredDeployments();

describe("the named tests", () => {
  it("run in both modes, and find every key that they read", async () => {
    const modes = await Promise.all(
      pair.contenders.map((each) => pair.measure({ tests: [...TEST_NAMES] }, { some: [each] })),
    );
    const [records, referenceLoads] = [
      modes.flatMap((each) => each.records),
      modes.flatMap((each) => each.referenceLoads),
    ];
    expect(records.map(({ deployment, test }) => `${deployment} ${test}`).sort()).toEqual(
      ["cluster", "replication"].flatMap((name) => TEST_NAMES.map((test) => `${name} ${test}`)).sort(),
    );
    expect(referenceLoads).toHaveLength(2 * 2);
    for (const { id, test, servers, warnings, client } of records) {
      expect(servers, id).not.toBeNull();
      // The servers count exactly the requests that were sent.
      expect(servers?.calls, id).toBe(client.requests);
      expect(servers?.rejectedCalls, id).toBe(0);
      if (NAMED_TESTS[test as keyof typeof NAMED_TESTS].reads) expect(servers?.hitRatio, id).toBe(1);
      expect(
        warnings.map(({ code }) => code),
        id,
      ).not.toEqual(expect.arrayContaining(["ran-empty"]));
    }
  }, 180_000);
});

describe("measurements", () => {
  it("are interleaved, with different seeds, and a reference load before each round and after the last", async () => {
    const { records, referenceLoads } = await pair.measure({ tests: ["set"] }, { repeats: 2 });
    expect(records.map(({ round, deployment }) => `${round} ${deployment}`)).toEqual([
      "1 replication",
      "1 cluster",
      "2 cluster",
      "2 replication",
    ]);
    expect(referenceLoads.map(({ round }) => round)).toEqual([1, 2, 3]);
    expect(new Set(records.map(({ seed }) => seed)).size).toBe(4);
  });
});
