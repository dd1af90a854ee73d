/** One row per deployment and test from a run's records, and rows side by side. Pure. */
import type { CumulativeCount } from "../valkey-benchmark/output";
import type { Doubt, MeasurementRecord, Results } from "./schema";
import { median, medianInterval } from "../statistics/median";
import type { MedianInterval } from "../statistics/median";

/** The repeats of one test on one deployment. Figures are medians over the repeats. */
export interface Row {
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
  /** Cumulative counts of all repeats together: counts can be added, percentiles cannot. */
  readonly latencies: readonly CumulativeCount[];
  /** The first of each code. */
  readonly doubts: readonly Doubt[];
  /** In order of rounds. */
  readonly records: readonly MeasurementRecord[];
}

export interface Comparison {
  readonly title: string;
  /** By deployment, in their order; undefined where it was not measured. */
  readonly rows: readonly (Row | undefined)[];
  /** Rate of the last deployment over that of the first, round by round, for both were measured beside each other in each. */
  readonly speedUp: MedianInterval | undefined;
}

export interface SideBySide {
  readonly deployments: readonly string[];
  readonly comparisons: readonly Comparison[];
}

/** Replication before clusters, so that the speed-up is the cluster's; else as the run had them. */
export function sideBySide(results: Pick<Results, "records" | "topologies">): SideBySide {
  const modes = new Map([...results.topologies, ...results.records].map(({ deployment, mode }) => [deployment, mode]));
  const measured = new Set(results.records.map(({ deployment }) => deployment));
  const inMode = (mode: Row["mode"]): string[] => [...modes].flatMap(([name, its]) => (its === mode && measured.has(name) ? [name] : []));
  const deployments = [...inMode("replication"), ...inMode("cluster")];
  const titles = [...new Set(results.records.map(({ title }) => title))];
  return {
    deployments,
    comparisons: titles.map((title) => {
      const rows = deployments.map((deployment) => rowOf(results.records.filter((record) => record.title === title && record.deployment === deployment)));
      return { title, rows, speedUp: deployments.length < 2 ? undefined : speedUp(rows[0], rows.at(-1)) };
    }),
  };
}

/** Rows in the order of `results.csv`: by deployment, then by test. */
export function rowsOf(results: Pick<Results, "records" | "topologies">): Row[] {
  const { deployments, comparisons } = sideBySide(results);
  return deployments.flatMap((_name, index) => comparisons.flatMap(({ rows }) => rows[index] ?? []));
}

function rowOf(unsorted: readonly MeasurementRecord[]): Row | undefined {
  const records = [...unsorted].sort((a, b) => a.round - b.round);
  const [first] = records;
  if (first === undefined) return undefined;
  const { deployment, mode, workload, test, title } = first;
  const client = (figure: (client: MeasurementRecord["client"]) => number): number => median(records.map((record) => figure(record.client)));
  return {
    deployment,
    mode,
    workload,
    test,
    title,
    repeats: records.length,
    rps: medianInterval(records.map((record) => record.client.rps)),
    serverRps: medianOfAll(records, ({ servers }) => servers?.rps ?? null),
    avgMs: client(({ avgMs }) => avgMs),
    p50Ms: client(({ p50Ms }) => p50Ms),
    p95Ms: client(({ p95Ms }) => p95Ms),
    p99Ms: client(({ p99Ms }) => p99Ms),
    maxMs: Math.max(...records.map((record) => record.client.maxMs)),
    hitRatio: medianOfAll(records, ({ servers }) => servers?.hitRatio ?? null),
    clientCpu: medianOfAll(records, ({ cpu }) => cpu.client),
    serverCpu: medianOfAll(records, ({ cpu }) => (cpu.servers.length === 0 ? null : cpu.servers.reduce((sum, { cores }) => sum + cores, 0))),
    latencies: mergeCounts(records.map((record) => record.client.cumulative)),
    doubts: [...new Map(records.flatMap(({ doubts }) => doubts).reverse().map((doubt) => [doubt.code, doubt])).values()].reverse(),
    records,
  };
}

/** Null when any repeat lacks the figure: a median of the rest would be of other repeats than its neighbours. */
function medianOfAll(records: readonly MeasurementRecord[], figure: (record: MeasurementRecord) => number | null): number | null {
  const values = records.flatMap((record) => figure(record) ?? []);
  return values.length === records.length ? median(values) : null;
}

/** Adds cumulative counts whose steps differ: between its steps a count stands still. */
export function mergeCounts(distributions: readonly (readonly CumulativeCount[])[]): CumulativeCount[] {
  const steps = [...new Set(distributions.flatMap((counts) => counts.map(({ ms }) => ms)))].sort((a, b) => a - b);
  const positions = distributions.map(() => -1);
  return steps.map((ms) => {
    let sum = 0;
    for (const [index, counts] of distributions.entries()) {
      let position = positions[index] ?? -1;
      while ((counts[position + 1]?.ms ?? Infinity) <= ms) position++;
      positions[index] = position;
      sum += counts[position]?.count ?? 0;
    }
    return { ms, count: sum };
  });
}

function speedUp(first: Row | undefined, last: Row | undefined): MedianInterval | undefined {
  const before = new Map(first?.records.map((record) => [record.round, record.client.rps]));
  const ratios = (last?.records ?? []).flatMap((record) => {
    const base = before.get(record.round) ?? 0;
    return base > 0 ? [record.client.rps / base] : [];
  });
  return ratios.length === 0 ? undefined : medianInterval(ratios);
}
