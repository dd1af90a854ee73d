/** Measurements of real servers. */
import { describe, expect, it } from "vitest";
import { useMeasuredDeployments } from "../../support/benchmarks/measuring";

const pair = useMeasuredDeployments();

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
});
