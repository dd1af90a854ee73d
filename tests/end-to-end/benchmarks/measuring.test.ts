/** Measurements of real servers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MeasuredDeployments } from "../../support/benchmarks/measuring";

let pair: MeasuredDeployments;
beforeAll(async () => {
  pair = await MeasuredDeployments.open();
});
afterAll(() => pair.sandbox.close());

describe("measurements", () => {
  it("agree with the servers' counters to 1 % when they have a duration", async () => {
    const { records } = await pair.measure({ tests: ["set", "get"], length: { seconds: 2 }, pipeline: 16 });
    for (const { id, servers, client, warnings } of records) {
      expect(client.seconds, id).toBeGreaterThan(1.9);
      expect(
        Math.abs(servers?.disagreement ?? 1),
        `${id}: ${warnings.map(({ text }) => text).join("; ")}`,
      ).toBeLessThan(0.01);
      const shares = servers?.shares.map(({ share }) => share) ?? [];
      for (const share of shares) expect(share, id).toBeGreaterThan(0);
    }
  });

  it("send as many requests as are offered", async () => {
    const { records } = await pair.measure({ tests: ["get"], length: { seconds: 2 }, pipeline: 1, rate: 6000 });
    for (const { client, rate } of records) {
      expect(rate).toBe(6000);
      // A busy machine sends fewer; no machine sends many more.
      expect(client.rps).toBeGreaterThan(4500);
      expect(client.rps).toBeLessThan(6600);
      // Milliseconds: valkey-benchmark prints requests per second in a table with the same heads.
      expect(client.p50Ms).toBeLessThan(200);
      expect([client.minMs, client.p50Ms, client.p95Ms, client.p99Ms, client.maxMs]).toEqual(
        [client.minMs, client.p50Ms, client.p95Ms, client.p99Ms, client.maxMs].sort((a, b) => a - b),
      );
    }
  });

  it("are interleaved, with different seeds, and a reference load before each round and after the last", async () => {
    const { records, referenceLoads } = await pair.measure({ tests: ["set"] }, 2);
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
