/** From what was measured to a record. Pure. */
import type { Deployment } from "../../valkey/deployment";
import type { MeasurementRecord } from "../results/schema";
import { usesThreads } from "../load/valkey-benchmark/arguments";
import type { ToolRun } from "../load/valkey-benchmark/arguments";
import type { Mix } from "../workloads/mix";
import { isSkewed, meanSize, workOf } from "../workloads/mix";
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

/** The same of a mixed workload. */
export interface MixContext {
  readonly deployment: Deployment;
  readonly mix: Mix;
  readonly seed: number;
  readonly round: number;
}

/** What the load was, as records have it. */
type Sent = Pick<MeasurementRecord, "workload" | "test" | "title" | "driver" | "mix" | "seed" | "clients" | "pipeline" | "dataSize" | "threads" | "keySpace" | "rate" | "warmupSeconds">;

interface Judged {
  readonly deployment: Deployment;
  readonly round: number;
  readonly ranEmpty: boolean;
  readonly ticked: boolean;
  readonly reads: boolean;
  readonly skewed: boolean;
  readonly offeredSeconds: number | undefined;
}

export function recordOf(measured: Measured, { deployment, tool, testName, round, ranEmpty }: MeasurementContext): MeasurementRecord {
  const { workload, test } = tool;
  const { clients, pipeline, dataSize, threads, keySpace, rate = null, warmup: warmupSeconds } = workload;
  const sent: Sent = { workload: workload.name ?? deployment.name, test: testName, title: test.title, driver: "valkey-benchmark", mix: null, seed: tool.seed, clients, pipeline, dataSize, threads, keySpace, rate, warmupSeconds };
  const ticked = "requests" in tool.length && usesThreads(tool);
  return judged(measured, sent, { deployment, round, ranEmpty, ticked, reads: test.reads, skewed: false, offeredSeconds: undefined });
}

export function mixRecordOf(measured: Measured, { deployment, mix, seed, round }: MixContext): MeasurementRecord {
  const { name, driver, clients, pipeline, keySpace, rate = null, warmup: warmupSeconds } = mix;
  const isOpen = mix.driver === "open-loop";
  const dataSize = isOpen ? Math.round(meanSize(mix.values)) : mix.dataSize;
  const sent: Sent = { workload: name, test: name, title: name, driver, mix: workOf(mix), seed, clients, pipeline, dataSize, threads: isOpen ? mix.workers : mix.threads, keySpace, rate, warmupSeconds };
  return judged(measured, sent, { deployment, round, ranEmpty: false, ticked: false, reads: mix.reads > 0, skewed: isSkewed(mix), offeredSeconds: isOpen ? mix.length.seconds : undefined });
}

function judged(measured: Measured, sent: Sent, { deployment, round, ranEmpty, ticked, reads, skewed, offeredSeconds }: Judged): MeasurementRecord {
  const { requests, rate, seconds, avgMs, minMs, p50Ms, p95Ms, p99Ms, maxMs, percentiles, cumulative } = measured.report;
  const interval = { fromMs: measured.fromMs, toMs: measured.toMs };
  const unknown = [...measured.counters.values()].find((samples): samples is string => typeof samples === "string");
  const counts = unknown === undefined ? countsOf(measured, interval) : undefined;
  const record = {
    id: `${round}-${deployment.name}-${sent.test}`,
    round,
    deployment: deployment.name,
    mode: deployment.mode,
    ...sent,
    startedAt: measured.startedAt,
    command: [...(measured.outputs.find(({ warmUp }) => !warmUp)?.command ?? [])],
    client: { requests, rps: rate, seconds, avgMs, minMs, p50Ms, p95Ms, p99Ms, maxMs, percentiles: [...percentiles], cumulative: [...cumulative] },
    histogram: measured.latencies?.encode() ?? null,
    offering: measured.offering ?? null,
    servers: counts === undefined ? null : serverFigures(counts, rate, seconds, reads),
    cpu: { ...measured.cpu, servers: [...(counts ?? [])].map(([node, count]) => ({ node: node.name, role: node.role, cores: count.cores, mainThread: count.mainThreadCores ?? null })) },
    runners: measured.runners,
  };
  const doubts = doubtsOf({ record, ticked, reads, ranEmpty, skewed, serversUnknown: unknown, offeredSeconds });
  return { ...record, doubts: [...doubts, ...measured.doubts] };
}

type Counts = ReadonlyMap<WatchedNode, NodeCounts>;

function countsOf(measured: Measured, interval: Parameters<typeof countsWithin>[1]): Counts {
  return new Map([...measured.counters].flatMap(([node, samples]) => (typeof samples === "string" ? [] : [[node, countsWithin(samples, interval)] as const])));
}

/** Calls are those of clients, which counters of replicas hold only where clients read from them; shares are the primaries'. */
function serverFigures(counts: Counts, clientRate: number, seconds: number, reads: boolean): MeasurementRecord["servers"] {
  const all = [...counts];
  const primaries = all.filter(([node]) => node.role === "primary");
  const total = (of: typeof all, figure: (count: NodeCounts) => number): number => of.reduce((sum, [, count]) => sum + figure(count), 0);
  const calls = total(all, (count) => count.calls);
  const own = total(primaries, (count) => count.calls);
  const rps = calls / seconds;
  const hits = total(all, (count) => count.hits);
  const misses = total(all, (count) => count.misses);
  return {
    rps,
    calls,
    disagreement: rps === 0 ? 1 : (clientRate - rps) / rps,
    hits,
    misses,
    hitRatio: reads && hits + misses > 0 ? hits / (hits + misses) : null,
    evictions: total(primaries, (count) => count.evictions),
    rejectedCalls: total(all, (count) => count.rejectedCalls),
    shares: primaries.map(([node, count]) => ({ node: node.name, calls: count.calls, share: own === 0 ? 0 : count.calls / own, expectedShare: 1 / primaries.length })),
  };
}
