/** A result for each deployment and test, and comparisons of deployments: the speed-up with its interval. */
import { type CumulativeCount, Histogram, mergeCumulativeCounts } from "../../lib/histogram";
import { latencyHistogram } from "./latency-histogram";
import { formatLatency, latencyLimitMs, timedOut } from "./latency-limits";
import type { Warning, MeasurementRecord, Results } from "./schema";
import { median, medianInterval, type MedianInterval } from "../../lib/statistics/median";

/**
 * Result of all repeats of a test on a deployment. Rates and CPU use are medians. Latencies come from all requests
 * together.
 */
export interface ResultRow {
  readonly deployment: string;
  readonly mode: MeasurementRecord["mode"];
  readonly workload: string;
  readonly test: string;
  readonly title: string;
  readonly repeats: number;
  /** Requests per second, by the load generator's clock. */
  readonly rps: MedianInterval;
  /** Requests per second, by the primaries' counters; null if the counters of a repeat are missing. */
  readonly serverRps: number | null;
  /** Average latency of all repeats together. */
  readonly avgMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  /** Highest latency of all repeats. If requests timed out, at least the time limit. */
  readonly maxMs: number;
  readonly hitRatio: number | null;
  /** Cores that the load generators used. */
  readonly clientCpu: number | null;
  /** Cores that all nodes of the deployment used together. */
  readonly serverCpu: number | null;
  /** Offered requests per second. Null at full speed. */
  readonly offered: number | null;
  /** Whether latencies are measured from the intended times of requests. */
  readonly isOpenLoop: boolean;
  /**
   * Number of requests up to each latency, over all repeats. These counts can be added up over repeats; percentiles
   * cannot.
   */
  readonly latencies: readonly CumulativeCount[];
  /**
   * Warnings of all repeats. If several warnings have the same code, the list contains only the first of these
   * warnings.
   */
  readonly warnings: readonly Warning[];
  /** Records of the repeats, in the order of their rounds. */
  readonly records: readonly MeasurementRecord[];
}

/** The results of one test on all deployments. */
export interface TestComparison {
  readonly title: string;
  /** One result for each deployment; undefined if the test was not measured on the deployment. */
  readonly rows: readonly (ResultRow | undefined)[];
  /**
   * Rate of the last deployment divided by the rate of the first deployment: the median over the rounds, with its
   * interval.
   */
  readonly speedUp: MedianInterval | undefined;
}

/** The results of all tests on all deployments. */
export interface DeploymentComparison {
  readonly deployments: readonly string[];
  readonly comparisons: readonly TestComparison[];
}

/**
 * Compares the results of all deployments, test by test. Deployments in replication mode come first, so a speed-up
 * shows how much faster a cluster is than replication mode.
 */
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

/** Results in the order of `results.csv`: by deployment, then by test. */
export function resultRows(results: Pick<Results, "records" | "topologies">): ResultRow[] {
  const { deployments, comparisons } = compareDeployments(results);
  return deployments.flatMap((_name, index) => comparisons.flatMap(({ rows }) => rows[index] ?? []));
}

function rowOf(unsorted: readonly MeasurementRecord[]): ResultRow | undefined {
  const records = [...unsorted].sort((a, b) => a.round - b.round);
  const [first] = records;
  if (first === undefined) return undefined;
  const { deployment, mode, workload, test, title } = first;
  const latencies = offeredHistogram(records);
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
    p50Ms: percentileMs(records, 0.5, latencies),
    p95Ms: percentileMs(records, 0.95, latencies),
    p99Ms: percentileMs(records, 0.99, latencies),
    maxMs: Math.max(
      ...records.map((record) => Math.max(record.client.maxMs, timedOut(record) === 0 ? 0 : latencyLimitMs([record]))),
    ),
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

export function latencyOf({ records }: ResultRow, milliseconds: number): string {
  return formatLatency(latencyLimitMs(records), milliseconds);
}

/** A percentile of all requests of the records together. Requests that timed out count with the limit of the records. */
export function percentileMs(
  records: readonly MeasurementRecord[],
  part: number,
  latencies = offeredHistogram(records),
): number {
  return Math.min(latencies.percentileMs(part), latencyLimitMs(records));
}

/** The percentile that the load generator reports, unless requests timed out. */
export function recordPercentileMs(record: MeasurementRecord, part: 0.5 | 0.99): number {
  if (timedOut(record) > 0) return percentileMs([record], part);
  return part === 0.5 ? record.client.p50Ms : record.client.p99Ms;
}

function offeredHistogram(records: readonly MeasurementRecord[]): Histogram {
  const all = Histogram.merge(records.map(histogramOf));
  for (const record of records) {
    const late = timedOut(record);
    if (late > 0) all.record(latencyLimitMs([record]) * 1000, late);
  }
  return all;
}

export function microsecondsPerOperation({ serverCpu, serverRps }: ResultRow): number | null {
  return serverCpu === null || serverRps === null || serverRps === 0 ? null : (1e6 * serverCpu) / serverRps;
}

export function formatCpuPerOperation(row: ResultRow): string {
  const microseconds = microsecondsPerOperation(row);
  return microseconds === null ? "–" : `${microseconds.toFixed(2)} µs`;
}

export function histogramOf({ histogram, client }: Pick<MeasurementRecord, "histogram" | "client">): Histogram {
  return histogram === null ? latencyHistogram(client) : Histogram.decode(histogram);
}

/** Null if a repeat lacks the value, because all values of a result must come from the same repeats. */
function medianOfAll(
  records: readonly MeasurementRecord[],
  figure: (record: MeasurementRecord) => number | null,
): number | null {
  const values = records.flatMap((record) => figure(record) ?? []);
  return values.length === records.length ? median(values) : null;
}

/** Undefined at an offered rate, because there all deployments serve the same rate. */
function speedUp(first: ResultRow | undefined, last: ResultRow | undefined): MedianInterval | undefined {
  if ([...(first?.records ?? []), ...(last?.records ?? [])].some(({ rate }) => rate !== null)) return undefined;
  const before = new Map(first?.records.map((record) => [record.round, record.client.rps]));
  const ratios = (last?.records ?? []).flatMap((record) => {
    const base = before.get(record.round) ?? 0;
    return base > 0 ? [record.client.rps / base] : [];
  });
  return ratios.length === 0 ? undefined : medianInterval(ratios);
}

export function formatInterval({ low, high, confidence }: MedianInterval, format: (value: number) => string): string {
  return confidence === 0 ? "" : `${format(low)} … ${format(high)}`;
}
