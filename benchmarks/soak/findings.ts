import { compact } from "../../lib/compact";
import { Histogram } from "../../lib/histogram";
import type { SoakWindow } from "./checkpoint-log";
import type { NodeSample } from "./node-sample";
import { type Trend, nodeSeries, trendOf } from "./trend";
import { formatCount, formatBytes, formatMs, formatPercent } from "../../lib/units";

interface SoakNodeFindings {
  readonly node: string;
  readonly memory: Trend | undefined;
  readonly maxUsedBytes: number;
  readonly maxResidentBytes: number;
  readonly maxFragmentation: number;
  readonly aofRewrites: number;
  readonly maxAofBytes: number;
  readonly evicted: number;
}

export interface SoakFindings {
  readonly deployment: string;
  readonly windows: number;
  /** Seconds for which load was offered, over all windows. */
  readonly seconds: number;
  readonly offered: number;
  readonly acknowledged: number;
  readonly failed: number;
  readonly unknown: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** The p99 in the last quarter of the windows, divided by the p99 in the first quarter. */
  readonly tailRatio: number;
  readonly maxReplicaLagBytes: number;
  readonly maxDiskBytes: number;
  readonly nodes: readonly SoakNodeFindings[];
  readonly problems: readonly string[];
}

export function soakFindings(deployment: string, windows: readonly SoakWindow[]): SoakFindings {
  const own = windows.filter((window) => window.deployment === deployment);
  const histograms = own.map(({ latencies }) => Histogram.decode(latencies));
  const all = Histogram.merge(histograms);
  const sum = (figure: (window: SoakWindow) => number): number =>
    own.reduce((total, window) => total + figure(window), 0);
  const nodes = [...new Set(own.flatMap(({ samples }) => samples.map(({ node }) => node)))];
  return {
    deployment,
    windows: own.length,
    seconds: sum(({ seconds }) => seconds),
    offered: sum(({ offered }) => offered),
    acknowledged: sum(({ acknowledged }) => acknowledged),
    failed: sum(({ failed }) => failed),
    unknown: sum(({ unknown }) => unknown),
    p50Ms: all.percentileMs(0.5),
    p99Ms: all.percentileMs(0.99),
    p999Ms: all.percentileMs(0.999),
    maxMs: all.maxMs,
    tailRatio: tailRatioOf(histograms),
    maxReplicaLagBytes: Math.max(0, ...own.map(({ samples }) => maxReplicaLag(samples))),
    maxDiskBytes: Math.max(0, ...own.map(({ diskBytes }) => diskBytes)),
    nodes: nodes.map((node) => nodeFindings(node, own)),
    problems: soakProblems(nodes, own),
  };
}

function tailRatioOf(histograms: readonly Histogram[]): number {
  const quarter = Math.max(1, Math.floor(histograms.length / 4));
  const p99Ms = (some: readonly Histogram[]): number => Histogram.merge(some).percentileMs(0.99);
  return p99Ms(histograms.slice(-quarter)) / p99Ms(histograms.slice(0, quarter));
}

/** Bytes, at least 0: a replica that was sampled after its primary can appear to be ahead. */
export function maxReplicaLag(samples: readonly NodeSample[]): number {
  const primaries = samples.filter(({ role }) => role === "primary");
  const offsets = new Map(primaries.map(({ endpoint, offset }) => [endpoint, offset]));
  const lagOf = ({ follows, offset }: NodeSample): number | undefined => {
    const primaryOffset = follows === null ? null : (offsets.get(follows) ?? null);
    return offset === null || primaryOffset === null ? undefined : primaryOffset - offset;
  };
  return Math.max(0, ...compact(samples.map(lagOf)));
}

function nodeFindings(node: string, windows: readonly SoakWindow[]): SoakNodeFindings {
  const samples = samplesOf(node, windows);
  const max = (figure: (sample: NodeSample) => number | null): number =>
    Math.max(0, ...samples.map((sample) => figure(sample) ?? 0));
  return {
    node,
    memory: trendOf(nodeSeries(node, windows, ({ usedBytes }) => usedBytes)),
    maxUsedBytes: max(({ usedBytes }) => usedBytes),
    maxResidentBytes: max(({ residentBytes }) => residentBytes),
    maxFragmentation: max(({ fragmentation }) => fragmentation),
    aofRewrites: max(({ aofRewrites }) => aofRewrites),
    maxAofBytes: max(({ aofBytes }) => aofBytes),
    evicted: max(({ evicted }) => evicted),
  };
}

function soakProblems(nodes: readonly string[], windows: readonly SoakWindow[]): string[] {
  return [...nodes.flatMap((node) => nodeProblems(samplesOf(node, windows))), ...requestProblems(windows)];
}

function samplesOf(node: string, windows: readonly SoakWindow[]): NodeSample[] {
  return windows.flatMap(({ samples }) => samples.filter((sample) => sample.node === node));
}

function nodeProblems(samples: readonly NodeSample[]): string[] {
  const problem = (what: string, holds: (sample: NodeSample, previous?: NodeSample) => boolean): string | undefined => {
    const count = samples.filter((sample, index) => holds(sample, samples[index - 1])).length;
    if (count === 0) return undefined;
    return `${samples[0]?.node ?? ""} ${what} (${count} of ${samples.length} windows)`;
  };
  return compact([
    problem("did not reply", ({ role }) => role === null),
    problem("was restarted", isRestarted),
    problem("changed its role", hasChangedRole),
    problem("had no link to its primary", ({ role, linkUp }) => role !== null && !linkUp),
    problem("could not write its append-only file", ({ aofHealthy }) => !aofHealthy),
  ]);
}

function isRestarted({ uptimeSeconds }: NodeSample, previous?: NodeSample): boolean {
  return uptimeSeconds !== null && uptimeSeconds < (previous?.uptimeSeconds ?? 0);
}

function hasChangedRole({ role }: NodeSample, previous?: NodeSample): boolean {
  const before = previous?.role ?? null;
  return role !== null && before !== null && role !== before;
}

function requestProblems(windows: readonly SoakWindow[]): string[] {
  const failed = windows.reduce((sum, window) => sum + window.failed, 0);
  const unknown = windows.reduce((sum, window) => sum + window.unknown, 0);
  return compact([
    failed === 0 ? undefined : `${formatCount(failed)} requests failed`,
    unknown === 0 ? undefined : `${formatCount(unknown)} requests got no reply`,
  ]);
}

export function describeSoakFindings(findings: SoakFindings): string[] {
  const { deployment, windows, seconds, offered, acknowledged, nodes, problems } = findings;
  const { p50Ms, p99Ms, p999Ms, maxMs, tailRatio, maxReplicaLagBytes, maxDiskBytes } = findings;
  const load = `${formatCount(seconds)} s of load`;
  const latencies = [`p50 ${formatMs(p50Ms)} ms`, `p99 ${formatMs(p99Ms)} ms`, `p99.9 ${formatMs(p999Ms)} ms`];
  return [
    `${deployment}: ${windows} windows, ${load}, ` +
      `${formatCount(acknowledged)} of ${formatCount(offered)} requests acknowledged`,
    `  ${latencies.join(", ")}, maximum ${formatMs(maxMs)} ms; ` +
      `the p99 of the last quarter is ${tailRatio.toFixed(2)} times the p99 of the first quarter`,
    `  maximum replica lag ${formatBytes(maxReplicaLagBytes)}; maximum size of files ${formatBytes(maxDiskBytes)}`,
    ...nodes.map((node) => `  ${node.node}: ${describeNode(node).join("; ")}`),
    ...(problems.length === 0 ? ["  no problems"] : problems.map((problem) => `  problem: ${problem}`)),
  ];
}

function describeNode(node: SoakNodeFindings): string[] {
  const { maxUsedBytes, maxResidentBytes, maxFragmentation, maxAofBytes, aofRewrites, evicted } = node;
  const memory = `at most ${formatBytes(maxUsedBytes)} used and ${formatBytes(maxResidentBytes)} resident`;
  return compact([
    `memory ${memory}, ${describeTrend(node.memory)}`,
    `fragmentation at most ${maxFragmentation.toFixed(2)}`,
    `append-only file at most ${formatBytes(maxAofBytes)}, rewritten ${aofRewrites} times`,
    evicted > 0 ? `${formatCount(evicted)} keys evicted` : undefined,
  ]);
}

function describeTrend(trend: Trend | undefined): string {
  if (trend === undefined) return "too few windows for a trend";
  const percent = `${formatPercent(trend.relativePerHour)} per hour`;
  return trend.grows ? `growing by ${percent}` : `no significant growth (${percent})`;
}
