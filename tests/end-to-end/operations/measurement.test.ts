/** The measurement of servers that exist already, as `BenchmarkJob` and `LoadCapacity` ask the provider for it. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ExternalTarget } from "../../../components/measuring/arguments";
import { type BenchmarkJobArgs, BenchmarkJob } from "../../../components/benchmark-job";
import { LoadCapacity } from "../../../components/load-capacity";
import type { MeasurementInputs, MeasurementOutputs } from "../../../operations/handlers/measurement";
import { handler as measurement } from "../../../operations/handlers/measurement";
import type { Deployment } from "../../../valkey/deployment";
import { HANDLER_CONTEXT } from "../../support/pulumi/handler-context";
import { evaluateProgram, onlyResource } from "../../support/pulumi/pulumi-mocks";
import { useSandbox } from "../../support/valkey/hooks";
import { callNode, eventually, withNode } from "../../support/valkey/real";
import { startTlsServer } from "../../support/valkey/tls-server";

const sandbox = useSandbox();
let cluster: Deployment;
let replication: Deployment;
let directory: string;
beforeAll(async () => {
  [cluster, replication] = await Promise.all([
    sandbox.formedCluster("cluster", 3, 1),
    sandbox.formedReplication("replication", 1),
  ]);
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "program-"));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

function targetOf({ name, mode, nodes, access }: Deployment): ExternalTarget {
  return {
    name,
    mode,
    nodes: nodes.map(({ endpoint, zone = "" }) => ({ ...endpoint, zone })),
    password: access.password ?? "",
  };
}

async function asked(program: () => unknown): Promise<MeasurementInputs> {
  const { inputs } = onlyResource(await evaluateProgram(program), "valkey:index:Measurement");
  return { ...(inputs as unknown as MeasurementInputs), directory };
}
async function create(program: () => unknown): Promise<MeasurementOutputs> {
  return (await measurement.create(await asked(program), HANDLER_CONTEXT)).outputs;
}
const SHORT: BenchmarkJobArgs = { tests: ["get"], requests: 6000, warmup: 0, repeats: 1, threads: 1, keySpace: 16_384 };
const keysOf = (deployment: Deployment): Promise<number> =>
  withNode(deployment, 0, (connection) => connection.dbsize());
const filesBelow = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((each) =>
    each.isFile() ? [join(each.parentPath, each.name)] : [],
  );

describe("servers that exist already", () => {
  it("are verified, measured beside each other and left as they were; results lie below the program's directory", async () => {
    const { results, comparison, summary, report } = await create(
      () => new BenchmarkJob("ours", { ...SHORT, externalTargets: [targetOf(replication), targetOf(cluster)] }),
    );
    expect(results.complete).toBe(true);
    expect(results.topologies.map(({ deployment, verdict }) => [deployment, verdict.pass])).toEqual([
      ["replication", true],
      ["cluster", true],
    ]);
    expect(comparison.map(({ test, rows }) => [test, rows.map(({ deployment }) => deployment)])).toEqual([
      ["GET", ["replication", "cluster"]],
    ]);
    expect(comparison[0]?.speedUp?.median).toBeGreaterThan(0);
    expect(summary).toMatch(/=== Side by side ===[^]*GET/);
    expect(report).toMatch(/^results\/\d{8}-\d{6}\/report\.html$/);
    const files = filesBelow(directory);
    expect(files).toContain(join(directory, report));
    for (const file of files)
      for (const { access } of [cluster, replication])
        expect(readFileSync(file, "utf8").includes(access.password ?? "-"), file).toBe(false);
    // The state has no distributions; results.json has.
    expect(results.records.map(({ client }) => client.cumulative.length)).toEqual([0, 0]);
    const file = JSON.parse(readFileSync(join(directory, dirname(report), "results.json"), "utf8")) as typeof results;
    expect(file.records.every(({ client }) => client.cumulative.length > 0)).toBe(true);
    expect([await keysOf(cluster), await keysOf(replication)]).toEqual([0, 0]);
  });

  it("go where the caller says: from the program's directory, or anywhere", async () => {
    const job = (output: string) => (): unknown =>
      new BenchmarkJob("ours", { ...SHORT, output, externalTargets: [targetOf(replication)] });
    expect((await create(job("out/first"))).report).toBe("out/first/report.html");
    const elsewhere = mkdtempSync(join(tmpdir(), "results-"));
    try {
      expect((await create(job(elsewhere))).report).toBe(join(elsewhere, "report.html"));
      expect(existsSync(join(elsewhere, "results.json"))).toBe(true);
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });

  it("keep keys that have the benchmark's names, unless they may be overwritten", async () => {
    const job = (overwriteKeys: boolean) => (): unknown =>
      new BenchmarkJob("ours", { ...SHORT, externalTargets: [{ ...targetOf(replication), overwriteKeys }] });
    await callNode(replication, 0, "SET", "key:000000000007", "theirs");
    await expect(create(job(false))).rejects.toThrow(/1 keys with names that valkey-benchmark uses .* exist already/);
    expect(await withNode(replication, 0, (connection) => connection.get("key:000000000007"))).toBe("theirs");
    await create(job(true));
    expect(await keysOf(replication)).toBe(0);
  });

  it("are not measured when they are not as expected, or their primaries cannot share the load evenly", async () => {
    const job =
      (changes: Partial<ExternalTarget>, args: BenchmarkJobArgs = {}) =>
      (): unknown =>
        new BenchmarkJob("ours", { ...SHORT, ...args, externalTargets: [{ ...targetOf(cluster), ...changes }] });
    await expect(create(job({ primaries: 4 }))).rejects.toThrow(
      /verification failed, so nothing is measured: cluster[^]*3 primaries/,
    );
    await expect(create(job({}, { clients: 50, adjustLoad: false }))).rejects.toThrow(
      /clients: 50 clients cannot be shared evenly by 3 primaries/,
    );
    await expect(create(job({ password: "wrong" }))).rejects.toThrow(/refuses the password/);
    expect((await create(job({}, { clients: 50 }))).results.records.map(({ clients }) => clients)).toEqual([51]);
  });

  it("fail the measurement when they no longer pass after it, with a report of what was measured", async () => {
    const job = (): unknown =>
      new BenchmarkJob("ours", {
        ...SHORT,
        ...{ requests: undefined, duration: 2 },
        externalTargets: [targetOf(replication)],
      });
    const created = create(job);
    created.catch(() => undefined);
    await eventually("the measurement has begun", async () => (await keysOf(replication)) > 0);
    await callNode(replication, 0, "ACL", "SETUSER", "stranger", "on");
    try {
      await expect(created).rejects.toThrow(
        /^verification failed after the measurements \(report: results\S+\): replication\n[^]*has no user stranger/,
      );
    } finally {
      await callNode(replication, 0, "ACL", "DELUSER", "stranger");
    }
    expect(filesBelow(directory).filter((file) => file.endsWith("results.json"))).toHaveLength(1);
  });

  it("are reached over TLS by the certificate of their authority, and by no other", async () => {
    const server = await startTlsServer(sandbox, join(directory, "tls"));
    try {
      const target = { name: "secure", nodes: [{ host: "localhost", port: server.port, zone: "a" }] };
      const caCertificate = readFileSync(server.certificate, "utf8");
      const job = (tls: ExternalTarget["tls"]) => (): unknown =>
        new BenchmarkJob("ours", { ...SHORT, externalTargets: [{ ...target, mode: "replication", tls }] });
      expect((await create(job({ caCertificate }))).results.records).toHaveLength(1);
      await expect(create(job({}))).rejects.toThrow(/self-signed certificate/);
      await expect(create(job({ caCertificate, serverName: "other" }))).rejects.toThrow(/other/);
    } finally {
      server.stop();
    }
  });

  it("have their capacity found, each its own, with no other measurement", async () => {
    const { results, comparison } = await create(
      () =>
        new LoadCapacity("limit", {
          externalTargets: [targetOf(replication), targetOf(cluster)],
          objective: "p50=2s",
          workload: { clients: 6, keySpace: 16_384 },
          initialRate: 100,
          maxRate: 200,
          precision: 1,
          confirmations: 1,
          duration: 1,
          warmup: 0,
        }),
    );
    expect(results.capacities).toMatchObject([
      { deployment: "replication", capacity: 200, isOpenEnded: true },
      { deployment: "cluster", capacity: 200, isOpenEnded: true },
    ]);
    expect([results.records, comparison]).toEqual([[], []]);
    expect(results.referenceLoads.map(({ round }) => round)).toEqual([1, 2, 3]);
  });
});
