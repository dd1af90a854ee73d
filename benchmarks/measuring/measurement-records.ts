import type { Deployment } from "../../valkey/deployment";
import { type ValkeyBenchmarkRun, usesThreads } from "../load/valkey-benchmark/arguments";
import type { MeasurementRecord } from "../results/schema";
import { type MixedWorkload, hasSkewedKeys, meanValueBytes, requestMixOf } from "../workloads/mixed-workload";
import type { TestName } from "../workloads/named-tests";
import { type MeasuredInterval, type NodeCounts, countsWithin } from "./counters";
import type { MeasuredLoad, MeasuredNode } from "./measure";
import { type WarningEvidence, warningsOf } from "../warnings/warnings";

interface MeasurementContext {
  readonly deployment: Deployment;
  readonly testName: TestName;
  readonly run: ValkeyBenchmarkRun;
  readonly round: number;
  readonly ranEmpty: boolean;
}

interface MixedMeasurementContext {
  readonly deployment: Deployment;
  readonly workload: MixedWorkload;
  readonly seed: number;
  readonly round: number;
}

type SentLoad = Pick<
  MeasurementRecord,
  | "workload"
  | "test"
  | "title"
  | "loadGenerator"
  | "requestMix"
  | "seed"
  | "clients"
  | "pipeline"
  | "dataSize"
  | "threads"
  | "keySpace"
  | "rate"
  | "timeoutMs"
  | "warmupSeconds"
>;

interface RecordContext extends Omit<WarningEvidence, "record" | "serversUnknown"> {
  readonly deployment: Deployment;
  readonly round: number;
  readonly sent: SentLoad;
}

export function namedTestRecord(measured: MeasuredLoad, context: MeasurementContext): MeasurementRecord {
  const { deployment, run, testName, round, ranEmpty } = context;
  const { name, clients, pipeline, dataSize, threads, keySpace, rate = null, warmup: warmupSeconds } = run.workload;
  const sent: SentLoad = {
    workload: name ?? deployment.name,
    test: testName,
    title: run.test.title,
    loadGenerator: "valkey-benchmark",
    requestMix: null,
    seed: run.seed,
    clients,
    pipeline,
    dataSize,
    threads,
    keySpace,
    rate,
    timeoutMs: null,
    warmupSeconds,
  };
  return recordOf(measured, {
    deployment,
    round,
    sent,
    ranEmpty,
    isTicked: "requests" in run.length && usesThreads(run),
    reads: run.test.reads,
    isSkewed: false,
    offeredSeconds: undefined,
  });
}

export function mixedWorkloadRecord(measured: MeasuredLoad, context: MixedMeasurementContext): MeasurementRecord {
  const { deployment, workload, seed, round } = context;
  const { name, loadGenerator, clients, pipeline, keySpace, rate = null, warmup: warmupSeconds } = workload;
  const isOpen = workload.loadGenerator === "open-loop";
  const sent: SentLoad = {
    workload: name,
    test: name,
    title: name,
    loadGenerator,
    requestMix: requestMixOf(workload),
    seed,
    clients,
    pipeline,
    dataSize: isOpen ? Math.round(meanValueBytes(workload.values)) : workload.dataSize,
    threads: isOpen ? workload.workers : workload.threads,
    keySpace,
    rate,
    timeoutMs: isOpen ? workload.timeoutMs : null,
    warmupSeconds,
  };
  return recordOf(measured, {
    deployment,
    round,
    sent,
    ranEmpty: false,
    isTicked: false,
    reads: workload.reads > 0,
    isSkewed: hasSkewedKeys(workload),
    offeredSeconds: isOpen ? workload.length.seconds : undefined,
  });
}

function recordOf(measured: MeasuredLoad, context: RecordContext): MeasurementRecord {
  const { deployment, round, sent, ...evidence } = context;
  const { rate, seconds } = measured.report;
  const unread = [...measured.counters.values()].find((samples): samples is string => typeof samples === "string");
  const counts = unread === undefined ? countsOf(measured) : undefined;
  const record = {
    id: `${round}-${deployment.name}-${sent.test}`,
    round,
    deployment: deployment.name,
    mode: deployment.mode,
    ...sent,
    startedAt: measured.startedAt,
    command: [...(measured.outputs.find(({ warmUp }) => !warmUp)?.command ?? [])],
    client: clientFigures(measured),
    histogram: measured.latencies?.encode() ?? null,
    offering: measured.offering ?? null,
    servers: counts === undefined ? null : serverFigures(counts, rate, seconds, evidence.reads),
    cpu: { ...measured.cpu, servers: serverCpu(counts ?? new Map()) },
    runners: measured.runners,
  };
  const warnings = warningsOf({ record, ...evidence, serversUnknown: unread });
  return { ...record, warnings: [...warnings, ...measured.warnings] };
}

type Counts = ReadonlyMap<MeasuredNode, NodeCounts>;

function countsOf({ counters, fromMs, toMs }: MeasuredLoad): Counts {
  const interval: MeasuredInterval = { fromMs, toMs };
  return new Map(
    [...counters].flatMap(([node, samples]) =>
      typeof samples === "string" ? [] : [[node, countsWithin(samples, interval)] as const],
    ),
  );
}

function clientFigures({ report }: MeasuredLoad): MeasurementRecord["client"] {
  const { requests, rate, seconds, avgMs, minMs, p50Ms, p95Ms, p99Ms, maxMs } = report;
  const latencies = { avgMs, minMs, p50Ms, p95Ms, p99Ms, maxMs };
  const distribution = { percentiles: [...report.percentiles], cumulative: [...report.cumulative] };
  return { requests, rps: rate, seconds, ...latencies, ...distribution };
}

function serverCpu(counts: Counts): MeasurementRecord["cpu"]["servers"] {
  return [...counts].map(([{ name, role }, { cores, mainThreadCores }]) => ({
    node: name,
    role,
    cores,
    mainThread: mainThreadCores ?? null,
  }));
}

/** On replicas, only calls of clients that read count. */
function serverFigures(
  counts: Counts,
  clientRate: number,
  seconds: number,
  reads: boolean,
): MeasurementRecord["servers"] {
  const all = [...counts];
  const primaries = all.filter(([node]) => node.role === "primary");
  const total = (nodes: typeof all, figure: (count: NodeCounts) => number): number =>
    nodes.reduce((sum, [, count]) => sum + figure(count), 0);
  const calls = total(all, (count) => count.calls);
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
    shares: primaries.map(([{ name, slotShare }]) => {
      const ofShard = total(
        all.filter(([node]) => node.shard === name),
        (count) => count.calls,
      );
      return { node: name, calls: ofShard, share: calls === 0 ? 0 : ofShard / calls, expectedShare: slotShare };
    }),
  };
}
