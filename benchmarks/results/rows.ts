/** One row per deployment and test from a run's records, and rows side by side. Pure. */
import type { CumulativeCount } from "../../lib/histogram";
import { Histogram, mergeCumulativeCounts } from "../../lib/histogram";
import { latencyHistogram } from "../load/merge-reports";
import type { Warning, MeasurementRecord, Results } from "./schema";
import { median, medianInterval } from "../../lib/statistics/median";
import type { MedianInterval } from "../../lib/statistics/median";

/** The repeats of one test on one deployment. Rates and CPU are medians over the repeats, latencies are of all their requests together. */
export interface ResultRow {
  readonly deployment: string;
  readonly mode: MeasurementRecord["mode"];
  readonly workload: string;
  readonly test: string;
  readonly title: string;
  readonly repeats: number;
  /** Requests per second by the load generator's clock. */
  readonly rps: MedianInterval;
  /** By the primaries' counters; null when any repeat lacks them. */
  readonly serverRps: number | null;
  /** Of all repeats together, by their counts. */
  readonly avgMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** The greatest of all repeats. */
  readonly maxMs: number;
  readonly hitRatio: number | null;
  /** Cores. */
  readonly clientCpu: number | null;
  /** Cores of all nodes of the deployment together. */
  readonly serverCpu: number | null;
  /** Offered per second; null for as many as can be. */
  readonly offered: number | null;
  /** Whether latencies count from intended times. */
  readonly isOpenLoop: boolean;
  /** Cumulative counts of all repeats together: counts can be added, percentiles cannot. */
  readonly latencies: readonly CumulativeCount[];
  /** The first of each code. */
  readonly warnings: readonly Warning[];
  /** In order of rounds. */
  readonly records: readonly MeasurementRecord[];
}

export interface TestComparison {
  readonly title: string;
  /** By deployment, in their order; undefined where it was not measured. */
  readonly rows: readonly (ResultRow | undefined)[];
  /** Rate of the last deployment over that of the first, round by round, for both were measured beside each other in each. */
  readonly speedUp: MedianInterval | undefined;
}

export interface DeploymentComparison {
  readonly deployments: readonly string[];
  readonly comparisons: readonly TestComparison[];
}

/** Replication before clusters, so that the speed-up is the cluster's; else as the run had them. */
export function compareDeployments(results: Pick<Results, "records" | "topologies">): DeploymentComparison {
  const modes = new Map([...results.topologies, ...results.records].map(({ deployment, mode }) => [deployment, mode]));
  const measured = new Set(results.records.map(({ deployment }) => deployment));
  const inMode = (mode: ResultRow["mode"]): string[] =>
    [...modes].flatMap(([name, its]) => (its === mode && measured.has(name) ? [name] : []));
  const deployments = [...inMode("replication"), ...inMode("cluster")];
  const titles = [...new Set(results.records.map(({ title }) => title))];
  return {
    deployments,
    comparisons: titles.map((title) => {
      const rows = deployments.map((deployment) =>
        rowOf(results.records.filter((record) => record.title === title && record.deployment === deployment)),
      );
      return { title, rows, speedUp: deployments.length < 2 ? undefined : speedUp(rows[0], rows.at(-1)) };
    }),
  };
}

/** Rows in the order of `results.csv`: by deployment, then by test. */
export function resultRows(results: Pick<Results, "records" | "topologies">): ResultRow[] {
  const { deployments, comparisons } = compareDeployments(results);
  return deployments.flatMap((_name, index) => comparisons.flatMap(({ rows }) => rows[index] ?? []));
}

function rowOf(unsorted: readonly MeasurementRecord[]): ResultRow | undefined {
  const records = [...unsorted].sort((a, b) => a.round - b.round);
  const [first] = records;
  if (first === undefined) return undefined;
  const { deployment, mode, workload, test, title } = first;
  const latencies = Histogram.merge(records.map(histogramOf));
  const requests = records.reduce((sum, { client }) => sum + client.requests, 0);
  return {
    deployment,
    mode,
    workload,
    test,
    title,
    repeats: records.length,
    rps: medianInterval(records.map((record) => record.client.rps)),
    serverRps: medianOfAll(records, ({ servers }) => servers?.rps ?? null),
    avgMs: requests === 0 ? 0 : records.reduce((sum, { client }) => sum + client.avgMs * client.requests, 0) / requests,
    p50Ms: latencies.percentileMs(0.5),
    p95Ms: latencies.percentileMs(0.95),
    p99Ms: latencies.percentileMs(0.99),
    maxMs: Math.max(...records.map((record) => record.client.maxMs)),
    hitRatio: medianOfAll(records, ({ servers }) => servers?.hitRatio ?? null),
    clientCpu: medianOfAll(records, ({ cpu }) => cpu.client),
    serverCpu: medianOfAll(records, ({ cpu }) =>
      cpu.servers.length === 0 ? null : cpu.servers.reduce((sum, { cores }) => sum + cores, 0),
    ),
    offered: first.rate,
    isOpenLoop: first.offering !== null,
    latencies: records.some(({ histogram }) => histogram === null)
      ? mergeCumulativeCounts(records.map((record) => record.client.cumulative))
      : latencies.tailSteps(),
    warnings: [
      ...new Map(
        records
          .flatMap(({ warnings }) => warnings)
          .reverse()
          .map((warning) => [warning.code, warning]),
      ).values(),
    ].reverse(),
    records,
  };
}

/** The servers' CPU per operation in microseconds; null where rate or CPU are unknown. */
export function microsecondsPerOperation({ serverCpu, serverRps }: ResultRow): number | null {
  return serverCpu === null || serverRps === null || serverRps === 0 ? null : (1e6 * serverCpu) / serverRps;
}

/** `1.23 µs`; `–` where it is unknown. */
export function formatCpuPerOperation(row: ResultRow): string {
  const microseconds = microsecondsPerOperation(row);
  return microseconds === null ? "–" : `${microseconds.toFixed(2)} µs`;
}

/** A record's latencies: counts as exact as its load generator gives them. */
export function histogramOf({ histogram, client }: Pick<MeasurementRecord, "histogram" | "client">): Histogram {
  return histogram === null ? latencyHistogram(client) : Histogram.decode(histogram);
}

/** Null when any repeat lacks the figure: a median of the rest would be of other repeats than its neighbours. */
function medianOfAll(
  records: readonly MeasurementRecord[],
  figure: (record: MeasurementRecord) => number | null,
): number | null {
  const values = records.flatMap((record) => figure(record) ?? []);
  return values.length === records.length ? median(values) : null;
}

/** None where a rate was offered: it is the same for all, and says nothing of what they could do. */
function speedUp(first: ResultRow | undefined, last: ResultRow | undefined): MedianInterval | undefined {
  if ([...(first?.records ?? []), ...(last?.records ?? [])].some(({ rate }) => rate !== null)) return undefined;
  const before = new Map(first?.records.map((record) => [record.round, record.client.rps]));
  const ratios = (last?.records ?? []).flatMap((record) => {
    const base = before.get(record.round) ?? 0;
    return base > 0 ? [record.client.rps / base] : [];
  });
  return ratios.length === 0 ? undefined : medianInterval(ratios);
}
