/**
 * The open-loop generator on real servers: it sends all requests, measures stalls, and tells failures from unknown
 * outcomes.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Deployment } from "../../../valkey/deployment";
import { form } from "../../../valkey/formation/form";
import { LocalValkeyBenchmarkDriver } from "../../../benchmarks/load/valkey-benchmark/local-driver";
import { runMeasurements } from "../../../benchmarks/measuring/run-measurements";
import type { VerifiedDeployment } from "../../../benchmarks/measuring/session";
import { GeneratorProcess } from "../../../benchmarks/load/open-loop/generator-process";
import { LocalOpenLoopDriver } from "../../../benchmarks/load/open-loop/local-driver";
import type { OpenLoopPlan } from "../../../benchmarks/load/open-loop/plan";
import { Tally } from "../../../benchmarks/load/open-loop/tally";
import type { MeasurementRecord } from "../../../benchmarks/results/schema";
import { histogramOf } from "../../../benchmarks/results/rows";
import { detectFeatures } from "../../../benchmarks/load/valkey-benchmark/features";
import { verify } from "../../../valkey/verification/verify";
import type { MixedWorkload, OpenLoopWorkload } from "../../../benchmarks/workloads/mixed-workload";
import { never, Sandbox, withNode } from "../../support/valkey/real";

let sandbox: Sandbox;
let cluster: Deployment;
let replication: Deployment;

beforeAll(async () => {
  sandbox = await Sandbox.open();
  [cluster, replication] = await Promise.all([
    sandbox.cluster("cluster", 3, 1, { "cluster-node-timeout": 1000 }),
    sandbox.replication("replication", 1),
  ]);
  await Promise.all([
    form(cluster, { primaries: 3, replicasPerPrimary: 1 }),
    form(replication, { primaries: 1, replicasPerPrimary: 1 }),
  ]);
});
afterAll(() => sandbox.close());

const MIX: OpenLoopWorkload = {
  loadGenerator: "open-loop",
  name: "steady",
  data: "strings",
  reads: 0.8,
  keySpace: 16_384,
  clients: 12,
  pipeline: 1,
  length: { seconds: 1 },
  warmup: 0,
  rate: 2_000,
  arrivals: "poisson",
  keys: { distribution: "zipfian", theta: 0.99 },
  values: { sizes: "uniform", min: 10, max: 300 },
  readFrom: "primary",
  workers: 1,
  timeoutMs: 5_000,
  queue: 100_000,
};

const planFor = (deployment: Deployment, changes: Partial<OpenLoopPlan> = {}): OpenLoopPlan => {
  const { data, reads, keySpace, clients, pipeline, rate, arrivals, timeoutMs, queue } = MIX;
  const { password } = deployment.access;
  return {
    mode: deployment.mode,
    endpoints: deployment.nodes.map(({ endpoint }) => ({ ...endpoint })),
    access: password === undefined ? {} : { password },
    data,
    reads,
    keySpace,
    clients,
    pipeline,
    rate,
    arrivals,
    timeoutMs,
    queue,
    keys: { distribution: "uniform" },
    values: { sizes: "fixed", bytes: 64 },
    readFrom: "primary",
    seconds: 1,
    seed: 1,
    workers: 1,
    process: 0,
    processes: 1,
    ...changes,
  };
};

async function generate(
  plan: OpenLoopPlan,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
): Promise<Tally> {
  const generator = await GeneratorProcess.start(sandbox.host.run, plan);
  const [tallies] = await Promise.all([generator.run(), meanwhile()]);
  return Tally.merge(tallies);
}

async function measure(mixes: readonly MixedWorkload[]): Promise<MeasurementRecord[]> {
  const records: MeasurementRecord[] = [];
  const contenders = await Promise.all(
    [replication, cluster].map(async (deployment): Promise<VerifiedDeployment> => ({
      deployment,
      shards: (await verify(deployment)).verdict.shards,
    })),
  );
  const { run, programs } = sandbox.host;
  const workload = {
    name: undefined,
    tests: [],
    clients: 12,
    pipeline: 1,
    dataSize: 32,
    threads: 1,
    keySpace: 16_384,
    length: { seconds: 1 },
    warmup: 0,
    rate: undefined,
  };
  const runner = new LocalValkeyBenchmarkDriver({
    run,
    benchmark: programs.benchmark,
    features: await detectFeatures(programs.benchmark),
    serversHere: true,
  });
  await runMeasurements(
    { deployments: contenders, workload, mixedWorkloads: mixes, repeats: 1 },
    { valkeyBenchmark: runner, openLoop: new LocalOpenLoopDriver({ run, serversHere: true }), signal: never },
    {
      progress: () => undefined,
      raw: () => undefined,
      referenceLoad: () => undefined,
      record: (record) => {
        records.push(record);
      },
    },
  );
  return records;
}

describe("a mixed workload", () => {
  it("from the open-loop generator is sent, answered and counted by the servers, and every read is a hit", async () => {
    const records = await measure([
      MIX,
      {
        ...MIX,
        name: "sets",
        data: "sorted-sets",
        readFrom: "any",
        workers: 2,
        keys: { distribution: "uniform" },
        values: { sizes: "fixed", bytes: 1 },
      },
    ]);
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
    for (const { id, servers, client } of await measure([closed])) {
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
    const pause = async (): Promise<void> => {
      await sleep(300);
      await withNode(replication, 0, (connection) => connection.call("CLIENT", "PAUSE", "400", "ALL"));
    };
    const tally = await generate(planFor(replication, { arrivals: "fixed", seconds: 2, rate: 1_000 }), pause);
    expect(tally.acknowledged).toBe(2_000);
    // A fifth of the requests was intended in the 0.4 s of 2 s and waited for the rest of it: a tenth of all for 0.2 s
    // or more.
    expect(tally.latencies().percentileMs(0.9)).toBeGreaterThan(180);
    expect(tally.latencies().maxMs).toBeGreaterThan(380);
    // Requests before the stall and after its backlog do not wait.
    expect(tally.latencies().percentileMs(0.5)).toBeLessThan(100);
  });

  it("continues after a primary is killed, and counts failed and unknown requests", async () => {
    const own = await sandbox.cluster("dying", 3, 1, { "cluster-node-timeout": 500 });
    await form(own, { primaries: 3, replicasPerPrimary: 1 });
    const dies = async (): Promise<void> => {
      await sleep(500);
      await withNode(own, 0, (connection) => connection.call("SHUTDOWN", "NOSAVE", "NOW").catch(() => undefined));
    };
    const tally = await generate(planFor(own, { reads: 0, seconds: 6, rate: 1_000, timeoutMs: 800 }), dies);
    const { offered, acknowledged, failures, unknowns } = tally;
    expect(acknowledged + failures + unknowns).toBe(offered);
    // Requests in flight at that time; later ones wait for the new primary until they time out.
    expect(failures + unknowns).toBeGreaterThan(0);
    // In the last three seconds every request is answered.
    expect(acknowledged).toBeGreaterThan(0.6 * offered);
    expect(tally.toMs - tally.fromMs).toBeLessThan(7_000);
  });

  it("fails requests that exceed its queue, and counts them", async () => {
    const pause = async (): Promise<void> => {
      await sleep(100);
      await withNode(replication, 0, (connection) => connection.call("CLIENT", "PAUSE", "600", "ALL"));
    };
    const tally = await generate(planFor(replication, { queue: 50, rate: 2_000 }), pause);
    expect(tally.failed["queue-full"]).toBeGreaterThan(500);
    expect(tally.sent).toBe(tally.acknowledged);
    expect(tally.sent + tally.failures).toBe(tally.offered);
  });

  it("names the server that it cannot reach or log in to", async () => {
    await expect(
      GeneratorProcess.start(sandbox.host.run, planFor(replication, { access: { password: "wrong" } })),
    ).rejects.toThrow(/WRONGPASS/);
    await expect(
      GeneratorProcess.start(sandbox.host.run, planFor(cluster, { endpoints: [{ host: "127.0.0.1", port: 1 }] })),
    ).rejects.toThrow(/no node of the cluster answers CLUSTER SLOTS:\n.*127\.0\.0\.1:1/);
  });
});
