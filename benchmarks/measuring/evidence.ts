/** From what was measured to a record. Pure. */
import type { Deployment } from "../deployment";
import type { MeasurementRecord } from "../results/schema";
import { usesThreads } from "../valkey-benchmark/arguments";
import type { ToolRun } from "../valkey-benchmark/arguments";
import type { TestName } from "../workloads/named-tests";
import type { NodeCounts } from "./counters";
import { countsWithin } from "./counters";
import { doubtsOf } from "./doubts";
import type { Measured, WatchedNode } from "./measure";

/** What is known of a measurement beside what was measured. */
export interface MeasurementContext {
  readonly deployment: Deployment;
  readonly testName: TestName;
  readonly tool: ToolRun;
  readonly round: number;
  readonly ranEmpty: boolean;
}

export function recordOf(measured: Measured, context: MeasurementContext): MeasurementRecord {
  const { deployment, tool, testName, round } = context;
  const { workload, test } = tool;
  const { requests, rate, seconds, avgMs, minMs, p50Ms, p95Ms, p99Ms, maxMs, percentiles, cumulative } = measured.report;
  const interval = { fromMs: measured.fromMs, toMs: measured.toMs };
  const unknown = [...measured.counters.values()].find((samples): samples is string => typeof samples === "string");
  const counts = unknown === undefined ? countsOf(measured, interval) : undefined;
  const record = {
    id: `${round}-${deployment.name}-${testName}`,
    round,
    deployment: deployment.name,
    mode: deployment.mode,
    workload: workload.name ?? deployment.name,
    test: testName,
    title: test.title,
    startedAt: measured.startedAt,
    command: [...(measured.outputs.find(({ warmUp }) => !warmUp)?.command ?? [])],
    seed: tool.seed,
    clients: workload.clients,
    pipeline: workload.pipeline,
    dataSize: workload.dataSize,
    threads: workload.threads,
    keySpace: workload.keySpace,
    rate: workload.rate ?? null,
    warmupSeconds: workload.warmup,
    client: { requests, rps: rate, seconds, avgMs, minMs, p50Ms, p95Ms, p99Ms, maxMs, percentiles: [...percentiles], cumulative: [...cumulative] },
    servers: counts === undefined ? null : serverFigures(counts, rate, seconds, test.reads),
    cpu: { ...measured.cpu, servers: [...(counts ?? [])].map(([node, count]) => ({ node: node.name, role: node.role, cores: count.cores, mainThread: count.mainThreadCores ?? null })) },
    runners: measured.runners,
  };
  const ticked = "requests" in tool.length && usesThreads(tool);
  const doubts = doubtsOf({ record, ticked, reads: test.reads, ranEmpty: context.ranEmpty, serversUnknown: unknown });
  return { ...record, doubts: [...doubts, ...measured.doubts] };
}

type Counts = ReadonlyMap<WatchedNode, NodeCounts>;

function countsOf(measured: Measured, interval: Parameters<typeof countsWithin>[1]): Counts {
  return new Map([...measured.counters].flatMap(([node, samples]) => (typeof samples === "string" ? [] : [[node, countsWithin(samples, interval)] as const])));
}

/** Calls are the primaries': what they pass on to replicas counts there too, but is not the clients' work. */
function serverFigures(counts: Counts, clientRate: number, seconds: number, reads: boolean): MeasurementRecord["servers"] {
  const primaries = [...counts].filter(([node]) => node.role === "primary");
  const sum = (figure: (count: NodeCounts) => number): number => primaries.reduce((total, [, count]) => total + figure(count), 0);
  const calls = sum((count) => count.calls);
  const rps = calls / seconds;
  const hits = sum((count) => count.hits);
  const misses = sum((count) => count.misses);
  return {
    rps,
    calls,
    disagreement: rps === 0 ? 1 : (clientRate - rps) / rps,
    hits,
    misses,
    hitRatio: reads && hits + misses > 0 ? hits / (hits + misses) : null,
    evictions: sum((count) => count.evictions),
    rejectedCalls: sum((count) => count.rejectedCalls),
    shares: primaries.map(([node, count]) => ({ node: node.name, calls: count.calls, share: calls === 0 ? 0 : count.calls / calls, expectedShare: 1 / primaries.length })),
  };
}
