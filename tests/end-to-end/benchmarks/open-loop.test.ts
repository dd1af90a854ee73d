/**
 * The open-loop generator on real servers: it sends all requests, measures stalls, and tells failures from unknown
 * outcomes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import { histogramOf, latencyOf, resultRows } from "../../../benchmarks/results/rows";
import type { VerifiedDeployment } from "../../../benchmarks/measuring/session";
import type { MixedWorkload } from "../../../benchmarks/workloads/mixed-workload";
import { useSandbox } from "../../support/valkey/hooks";
import { MeasuredDeployments } from "../../support/benchmarks/measuring";
import { MIX, generate, planFor } from "../../support/benchmarks/open-loop";
import { results } from "../../support/benchmarks/records";
import { callNode, eventually } from "../../support/valkey/real";

const sandbox = useSandbox();
const pair = new MeasuredDeployments(sandbox);
beforeAll(() => pair.open(1));
const measure = async (...mixes: readonly MixedWorkload[]): Promise<MeasurementRecord[]> =>
  (await pair.measure({ pipeline: 1 }, { mixes })).records;

describe("a mixed workload", () => {
  it("from the open-loop generator is sent, answered and counted by the servers, and every read is a hit", async () => {
    const records = await measure(MIX, {
      ...MIX,
      name: "sets",
      data: "sorted-sets",
      readFrom: "any",
      workers: 2,
      keys: { distribution: "uniform" },
      values: { sizes: "fixed", bytes: 1 },
    });
    expect(records.map(({ deployment, test }) => `${deployment} ${test}`)).toEqual([
      "replication steady",
      "cluster steady",
      "replication sets",
      "cluster sets",
    ]);
    for (const record of records) {
      const { id, client, offering, servers } = record;
      expect(offering?.offered, id).toBeGreaterThan(1_700);
      expect([offering?.sent, offering?.acknowledged, client.requests, servers?.calls], id).toEqual(
        new Array(4).fill(offering?.offered),
      );
      expect([offering?.failed, offering?.unknown, offering?.redirects], id).toEqual([{}, {}, {}]);
      expect(servers?.hitRatio, id).toBe(1);
      expect(histogramOf(record).count, id).toBe(offering?.offered);
      expect(histogramOf(record).percentileMs(0.99), id).toBe(client.p99Ms);
    }
  });

  it("has a lower bound as percentile where requests time out", async () => {
    const some = pair.contenders.filter(({ deployment: { mode } }) => mode === "replication");
    const pause = async ({ deployment }: VerifiedDeployment): Promise<void> => {
      await callNode(deployment, 0, "CONFIG", "RESETSTAT");
      await eventually("the load has begun", async () =>
        /cmdstat_get:calls=\d{3}/.test(String(await callNode(deployment, 0, "INFO", "commandstats"))),
      );
      await callNode(deployment, 0, "CLIENT", "PAUSE", "800", "ALL");
    };
    const mixes = [{ ...MIX, timeoutMs: 300, length: { seconds: 2 } }];
    const [{ records }] = await Promise.all([pair.measure({ pipeline: 1 }, { some, mixes }), ...some.map(pause)]);
    const [row] = resultRows(results(records));
    expect(row?.p50Ms).toBeLessThan(300);
    expect([row?.p99Ms, row && latencyOf(row, row.p99Ms)]).toEqual([300, "≥ 300 ms"]);
  });

  it("from valkey-benchmark has the configured share of reads in both modes", async () => {
    const closed = {
      loadGenerator: "valkey-benchmark",
      name: "sorted-sets",
      data: "sorted-sets",
      reads: 0.9,
      keySpace: 16_384,
      clients: 12,
      pipeline: 1,
      length: { seconds: 1 },
      warmup: 0,
      dataSize: 1,
      threads: 1,
      rate: undefined,
      readFrom: "primary",
    } as const;
    for (const { id, servers, client } of await measure(closed)) {
      expect(servers?.hitRatio, id).toBe(1);
      // valkey-benchmark does not count requests in flight at its end.
      expect(Math.abs((servers?.calls ?? 0) / client.requests - 1), id).toBeLessThan(0.01);
      // Every read is a hit; writes look up no key.
      expect((servers?.hits ?? 0) / (servers?.calls ?? 1), id).toBeCloseTo(0.9, 2);
    }
  });
});

describe("the open-loop generator", () => {
  it("measures a stall for every request intended during it", async () => {
    const replication = pair.contenders[0]?.deployment;
    if (replication === undefined) throw new Error("there is no deployment");
    const pause = async (): Promise<void> => {
      await sleep(300);
      await callNode(replication, 0, "CLIENT", "PAUSE", "400", "ALL");
    };
    const tally = await generate(sandbox, planFor(replication, { arrivals: "fixed", seconds: 2, rate: 1_000 }), pause);
    expect(tally.acknowledged).toBe(2_000);
    // A fifth of the requests was intended in the 0.4 s of 2 s and waited for the rest of it: a tenth of all for 0.2 s
    // or more.
    expect(tally.latencies().percentileMs(0.9)).toBeGreaterThan(180);
    expect(tally.latencies().maxMs).toBeGreaterThan(380);
    // Requests before the stall and after its backlog do not wait.
    expect(tally.latencies().percentileMs(0.5)).toBeLessThan(100);
  });
});
