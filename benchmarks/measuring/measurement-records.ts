/** From what was measured to a record. Pure. */
import type { Deployment } from "../../valkey/deployment";
import type { MeasurementRecord } from "../results/schema";
import { usesThreads } from "../load/valkey-benchmark/arguments";
import type { ValkeyBenchmarkRun } from "../load/valkey-benchmark/arguments";
import type { MixedWorkload } from "../workloads/mixed-workload";
import { hasSkewedKeys, meanValueBytes, requestMixOf } from "../workloads/mixed-workload";
import type { TestName } from "../workloads/named-tests";
import type { NodeCounts } from "./counters";
import { countsWithin } from "./counters";
import { warningsOf } from "./warnings";
import type { MeasuredLoad, MeasuredNode } from "./measure";

/** What is known of a measurement beside what was measured. */
export interface MeasurementContext {
  readonly deployment: Deployment;
  readonly testName: TestName;
  readonly run: ValkeyBenchmarkRun;
  readonly round: number;
  readonly ranEmpty: boolean;
}

/** The same of a mixed workload. */
export interface MixedMeasurementContext {
  readonly deployment: Deployment;
  readonly workload: MixedWorkload;
  readonly seed: number;
  readonly round: number;
}

/** What the load was, as records have it. */
type Sent = Pick<
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
  | "warmupSeconds"
>;

interface Judged {
  readonly deployment: Deployment;
  readonly round: number;
  readonly ranEmpty: boolean;
  readonly ticked: boolean;
  readonly reads: boolean;
  readonly skewed: boolean;
  readonly offeredSeconds: number | undefined;
}

export function namedTestRecord(
  measured: MeasuredLoad,
  { deployment, run, testName, round, ranEmpty }: MeasurementContext,
): MeasurementRecord {
  const { workload, test } = run;
  const { clients, pipeline, dataSize, threads, keySpace, rate = null, warmup: warmupSeconds } = workload;
  const sent: Sent = {
    workload: workload.name ?? deployment.name,
    test: testName,
    title: test.title,
    loadGenerator: "valkey-benchmark",
    requestMix: null,
    seed: run.seed,
    clients,
    pipeline,
    dataSize,
    threads,
    keySpace,
    rate,
    warmupSeconds,
  };
  const ticked = "requests" in run.length && usesThreads(run);
  return judged(measured, sent, {
    deployment,
    round,
    ranEmpty,
    ticked,
    reads: test.reads,
    skewed: false,
    offeredSeconds: undefined,
  });
}

export function mixedWorkloadRecord(
  measured: MeasuredLoad,
  { deployment, workload, seed, round }: MixedMeasurementContext,
): MeasurementRecord {
  const { name, loadGenerator, clients, pipeline, keySpace, rate = null, warmup: warmupSeconds } = workload;
  const isOpen = workload.loadGenerator === "open-loop";
  const dataSize = isOpen ? Math.round(meanValueBytes(workload.values)) : workload.dataSize;
  const sent: Sent = {
    workload: name,
    test: name,
    title: name,
    loadGenerator,
    requestMix: requestMixOf(workload),
    seed,
    clients,
    pipeline,
    dataSize,
    threads: isOpen ? workload.workers : workload.threads,
    keySpace,
    rate,
    warmupSeconds,
  };
  return judged(measured, sent, {
    deployment,
    round,
    ranEmpty: false,
    ticked: false,
    reads: workload.reads > 0,
    skewed: hasSkewedKeys(workload),
    offeredSeconds: isOpen ? workload.length.seconds : undefined,
  });
}

function judged(
  measured: MeasuredLoad,
  sent: Sent,
  { deployment, round, ranEmpty, ticked, reads, skewed, offeredSeconds }: Judged,
): MeasurementRecord {
  const { requests, rate, seconds, avgMs, minMs, p50Ms, p95Ms, p99Ms, maxMs, percentiles, cumulative } =
    measured.report;
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
    client: {
      requests,
      rps: rate,
      seconds,
      avgMs,
      minMs,
      p50Ms,
      p95Ms,
      p99Ms,
      maxMs,
      percentiles: [...percentiles],
      cumulative: [...cumulative],
    },
    histogram: measured.latencies?.encode() ?? null,
    offering: measured.offering ?? null,
    servers: counts === undefined ? null : serverFigures(counts, rate, seconds, reads),
    cpu: {
      ...measured.cpu,
      servers: [...(counts ?? [])].map(([node, count]) => ({
        node: node.name,
        role: node.role,
        cores: count.cores,
        mainThread: count.mainThreadCores ?? null,
      })),
    },
    runners: measured.runners,
  };
  const warnings = warningsOf({
    record,
    isTicked: ticked,
    reads,
    ranEmpty,
    isSkewed: skewed,
    serversUnknown: unknown,
    offeredSeconds,
  });
  return { ...record, warnings: [...warnings, ...measured.warnings] };
}

type Counts = ReadonlyMap<MeasuredNode, NodeCounts>;

function countsOf(measured: MeasuredLoad, interval: Parameters<typeof countsWithin>[1]): Counts {
  return new Map(
    [...measured.counters].flatMap(([node, samples]) =>
      typeof samples === "string" ? [] : [[node, countsWithin(samples, interval)] as const],
    ),
  );
}

/** Calls are those of clients, which counters of replicas hold only where clients read from them; shares are the primaries'. */
function serverFigures(
  counts: Counts,
  clientRate: number,
  seconds: number,
  reads: boolean,
): MeasurementRecord["servers"] {
  const all = [...counts];
  const primaries = all.filter(([node]) => node.role === "primary");
  const total = (of: typeof all, figure: (count: NodeCounts) => number): number =>
    of.reduce((sum, [, count]) => sum + figure(count), 0);
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
    shares: primaries.map(([node, count]) => ({
      node: node.name,
      calls: count.calls,
      share: own === 0 ? 0 : count.calls / own,
      expectedShare: 1 / primaries.length,
    })),
  };
}
