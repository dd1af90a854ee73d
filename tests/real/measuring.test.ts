/** Every named test of valkey-benchmark, on real servers of both modes: hits where it reads, both clocks, nothing left. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../benchmarks/deployment";
import { form } from "../../benchmarks/formation/form";
import type { Contender } from "../../benchmarks/measuring/session";
import { LocalRunner } from "../../benchmarks/measuring/local-runner";
import { runExperiment } from "../../benchmarks/measuring/experiment";
import type { CanaryRecord, MeasurementRecord } from "../../benchmarks/results/schema";
import { toolFeatures } from "../../benchmarks/valkey-benchmark/features";
import { verify } from "../../benchmarks/verification/verify";
import { NAMED_TESTS, TEST_NAMES } from "../../benchmarks/workloads/named-tests";
import type { Workload } from "../../benchmarks/workloads/workload";
import { never, Sandbox } from "../support/real";

let sandbox: Sandbox;
let contenders: Contender[];

const contender = async (deployment: Deployment): Promise<Contender> => ({ deployment, shards: (await verify(deployment)).verdict.shards });
beforeAll(async () => {
  sandbox = await Sandbox.open();
  const [cluster, replication] = await Promise.all([sandbox.cluster("cluster", 3, 0), sandbox.replication("replication", 0)]);
  await Promise.all([form(cluster, { primaries: 3, replicasPerPrimary: 0 }), form(replication, { primaries: 1, replicasPerPrimary: 0 })]);
  contenders = await Promise.all([contender(replication), contender(cluster)]);
});
afterAll(() => sandbox.close());

const WORKLOAD: Workload = { name: undefined, tests: [], clients: 12, pipeline: 4, dataSize: 32, threads: 1, keySpace: 16_384, length: { requests: 3_000 }, warmup: 0, rate: undefined };

async function measure(workload: Partial<Workload>, repeats = 1, some = contenders): Promise<{ records: MeasurementRecord[]; canaries: CanaryRecord[] }> {
  const records: MeasurementRecord[] = [];
  const canaries: CanaryRecord[] = [];
  const { run, programs } = sandbox.host;
  await runExperiment(
    { contenders: some, workload: { ...WORKLOAD, ...workload }, repeats },
    { runner: new LocalRunner({ run, benchmark: programs.benchmark, features: await toolFeatures(programs.benchmark), serversHere: true }), signal: never },
    { progress: () => undefined, raw: () => undefined, record: (record) => { records.push(record); }, canary: (canary) => { canaries.push(canary); } },
  );
  return { records, canaries };
}

describe("the named tests", () => {
  it("all run in both modes, and those that read find what they read", async () => {
    const modes = await Promise.all(contenders.map((each) => measure({ tests: [...TEST_NAMES] }, 1, [each])));
    const [records, canaries] = [modes.flatMap((each) => each.records), modes.flatMap((each) => each.canaries)];
    expect(records.map(({ deployment, test }) => `${deployment} ${test}`).sort()).toEqual(["cluster", "replication"].flatMap((name) => TEST_NAMES.map((test) => `${name} ${test}`)).sort());
    expect(canaries).toHaveLength(2 * 2);
    for (const { id, test, servers, doubts, client } of records) {
      expect(servers, id).not.toBeNull();
      // The counters see exactly the requests that were sent, whatever the clock says.
      expect(servers?.calls, id).toBe(client.requests);
      expect(servers?.rejectedCalls, id).toBe(0);
      if (NAMED_TESTS[test as keyof typeof NAMED_TESTS].reads) expect(servers?.hitRatio, id).toBe(1);
      expect(doubts.map(({ code }) => code), id).not.toEqual(expect.arrayContaining(["ran-empty"]));
    }
  }, 180_000);

  it("with a duration are measured by both clocks to a hundredth", async () => {
    const { records } = await measure({ tests: ["set", "get"], length: { seconds: 2 }, pipeline: 16 });
    for (const { id, servers, client, doubts } of records) {
      expect(client.seconds, id).toBeGreaterThan(1.9);
      expect(Math.abs(servers?.disagreement ?? 1), `${id}: ${doubts.map(({ text }) => text).join("; ")}`).toBeLessThan(0.01);
      const shares = servers?.shares.map(({ share }) => share) ?? [];
      for (const share of shares) expect(share, id).toBeGreaterThan(0);
    }
  });

  it("at an offered rate send that many", async () => {
    const { records } = await measure({ tests: ["get"], length: { seconds: 2 }, pipeline: 1, rate: 6000 });
    for (const { client, rate } of records) {
      expect(rate).toBe(6000);
      expect(client.rps).toBeGreaterThan(5000);
      expect(client.rps).toBeLessThan(6600);
    }
  });

  it("are interleaved with a canary before each round and after the last, from seeds that differ", async () => {
    const { records, canaries } = await measure({ tests: ["set"] }, 2);
    expect(records.map(({ round, deployment }) => `${round} ${deployment}`)).toEqual(["1 replication", "1 cluster", "2 cluster", "2 replication"]);
    expect(canaries.map(({ round }) => round)).toEqual([1, 2, 3]);
    expect(new Set(records.map(({ seed }) => seed)).size).toBe(4);
  });
});
