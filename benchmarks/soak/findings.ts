/** What a soak has shown of a deployment: what grew, what it took at most, how its tails changed, and what went wrong. Pure. */
import { Histogram } from "../../lib/histogram";
import { fitLine } from "../../lib/statistics/power-law";
import { twoSidedT } from "../../lib/statistics/student";
import { formatBytes, formatCount, formatMs } from "../../lib/units";
import type { NodeSample } from "./node-sample";
import type { SoakWindow } from "./checkpoint-log";

/** Part of the windows that fills and warms up, and is no part of what grows. */
const WARM_UP = 0.25;
const CONFIDENCE = 0.95;
/** The part of itself by which something must grow in an hour to be told of: less is the allocator's breathing. */
const WORTH_TELLING = 0.01;

/** Of a figure over time: how much it grows in an hour. */
export interface Trend {
  readonly perHour: number;
  readonly low: number;
  readonly high: number;
  /** Of its own size. */
  readonly relativePerHour: number;
  /** Whether it surely grows, and by so much that it matters. */
  readonly grows: boolean;
}

export interface SoakNodeFindings {
  readonly node: string;
  /** Undefined where there are too few windows. */
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
  /** Of load. */
  readonly seconds: number;
  readonly offered: number;
  readonly acknowledged: number;
  readonly failed: number;
  readonly unknown: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** p99 of the last quarter of the windows over that of the first. */
  readonly tailRatio: number;
  /** Bytes by which a replica was behind its primary, the most. */
  readonly maxReplicaLagBytes: number;
  /** That the files of its servers took. */
  readonly maxDiskBytes: number;
  readonly nodes: readonly SoakNodeFindings[];
  /** Nothing that a healthy deployment does. */
  readonly problems: readonly string[];
}

export function soakFindings(deployment: string, windows: readonly SoakWindow[]): SoakFindings {
  const own = windows.filter((window) => window.deployment === deployment);
  const histograms = own.map(({ latencies }) => Histogram.decode(latencies));
  const all = Histogram.merge(histograms);
  const quarter = Math.max(1, Math.floor(own.length / 4));
  const [first, last] = [
    Histogram.merge(histograms.slice(0, quarter)),
    Histogram.merge(histograms.slice(-quarter)),
  ].map((histogram) => histogram.percentileMs(0.99));
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
    tailRatio: (last ?? 0) / (first ?? NaN),
    maxReplicaLagBytes: Math.max(0, ...own.map(({ samples }) => maxReplicaLag(samples))),
    maxDiskBytes: Math.max(0, ...own.map(({ diskBytes }) => diskBytes)),
    nodes: nodes.map((node) => nodeFindings(node, own)),
    problems: [
      ...nodes.flatMap((node) => troublesOf(node, own)),
      ...requestTroubles(
        sum(({ failed }) => failed),
        sum(({ unknown }) => unknown),
      ),
    ],
  };
}

/** Bytes by which a replica is behind the primary it follows, the most. (A replica that was asked later can be ahead.) */
export function maxReplicaLag(samples: readonly NodeSample[]): number {
  const offsets = new Map(
    samples.flatMap(({ role, endpoint, offset }) =>
      role === "primary" && offset !== null ? [[endpoint, offset] as const] : [],
    ),
  );
  return Math.max(
    0,
    ...samples.flatMap(({ follows, offset }) =>
      follows === null || offset === null || !offsets.has(follows) ? [] : [(offsets.get(follows) ?? 0) - offset],
    ),
  );
}

function nodeFindings(node: string, windows: readonly SoakWindow[]): SoakNodeFindings {
  const samples = windows.flatMap(({ samples: all }) => all.filter((sample) => sample.node === node));
  const most = (figure: (sample: NodeSample) => number | null): number =>
    Math.max(0, ...samples.map((sample) => figure(sample) ?? 0));
  return {
    node,
    memory: trendOf(nodeSeries(node, windows, ({ usedBytes }) => usedBytes)),
    maxUsedBytes: most(({ usedBytes }) => usedBytes),
    maxResidentBytes: most(({ residentBytes }) => residentBytes),
    maxFragmentation: most(({ fragmentation }) => fragmentation),
    aofRewrites: most(({ aofRewrites }) => aofRewrites),
    maxAofBytes: most(({ aofBytes }) => aofBytes),
    evicted: most(({ evicted }) => evicted),
  };
}

/** A figure of a node by hours from the first window on. */
export function nodeSeries(
  node: string,
  windows: readonly SoakWindow[],
  figure: (sample: NodeSample) => number | null,
): { x: number; y: number }[] {
  const start = Date.parse(windows[0]?.at ?? "");
  return windows.flatMap(({ at, samples }) => {
    const sample = samples.find((each) => each.node === node);
    const y = sample === undefined ? null : figure(sample);
    return y === null ? [] : [{ x: (Date.parse(at) - start) / 3_600_000, y }];
  });
}

/** By a straight line through all but the first quarter. */
export function trendOf(series: readonly { readonly x: number; readonly y: number }[]): Trend | undefined {
  const points = series.slice(Math.floor(series.length * WARM_UP));
  const line = fitLine(points);
  if (line === undefined || points.length < 4) return undefined;
  const half = twoSidedT(CONFIDENCE, points.length - 2) * line.slopeError;
  const mean = points.reduce((sum, { y }) => sum + y, 0) / points.length;
  const part = line.slope / mean;
  return {
    perHour: line.slope,
    low: line.slope - half,
    high: line.slope + half,
    relativePerHour: part,
    grows: line.slope - half > 0 && part > WORTH_TELLING,
  };
}

function requestTroubles(failed: number, unknown: number): string[] {
  return [
    ...(failed > 0 ? [`${formatCount(failed)} requests failed`] : []),
    ...(unknown > 0 ? [`${formatCount(unknown)} requests got no answer`] : []),
  ];
}

function troublesOf(node: string, windows: readonly SoakWindow[]): string[] {
  const samples = windows.flatMap(({ samples: all }) => all.filter((sample) => sample.node === node));
  const times = (holds: (sample: NodeSample) => boolean): number => samples.filter(holds).length;
  const restarts = samples.filter(
    ({ uptimeSeconds }, index) => uptimeSeconds !== null && uptimeSeconds < (samples[index - 1]?.uptimeSeconds ?? 0),
  ).length;
  const roles = samples.filter(
    ({ role }, index) =>
      index > 0 && role !== null && samples[index - 1]?.role !== null && role !== samples[index - 1]?.role,
  ).length;
  const said = (count: number, what: string): string[] =>
    count === 0 ? [] : [`${node} ${what} (${count} of ${samples.length} windows)`];
  return [
    ...said(
      times(({ role }) => role === null),
      "did not answer",
    ),
    ...said(restarts, "was started again"),
    ...said(roles, "changed its role"),
    ...said(
      times(({ role, linkUp }) => role !== null && !linkUp),
      "had no link to its primary",
    ),
    ...said(
      times(({ aofWell }) => !aofWell),
      "could not write its append-only file",
    ),
  ];
}

/** A screen. */
export function describeSoakFindings(findings: SoakFindings): string[] {
  const {
    deployment,
    windows,
    seconds,
    offered,
    acknowledged,
    p50Ms,
    p99Ms,
    p999Ms,
    maxMs,
    tailRatio,
    maxReplicaLagBytes,
    maxDiskBytes,
    nodes,
    problems,
  } = findings;
  return [
    `${deployment}: ${windows} windows, ${formatCount(seconds)} s of load, ${formatCount(acknowledged)} of ${formatCount(offered)} requests acknowledged`,
    `  p50 ${formatMs(p50Ms)} ms, p99 ${formatMs(p99Ms)} ms, p99.9 ${formatMs(p999Ms)} ms, most ${formatMs(maxMs)} ms; p99 of the last quarter is ${tailRatio.toFixed(2)} times that of the first`,
    `  replicas at most ${formatBytes(maxReplicaLagBytes)} behind; files at most ${formatBytes(maxDiskBytes)}`,
    ...nodes.map(
      ({ node, memory, maxUsedBytes, maxResidentBytes, maxFragmentation, aofRewrites, maxAofBytes, evicted }) =>
        `  ${node}: memory ${formatBytes(maxUsedBytes)} used and ${formatBytes(maxResidentBytes)} resident at most, ${memory === undefined ? "too few windows for a trend" : `${memory.grows ? "growing by" : "no growth that matters:"} ${(memory.relativePerHour * 100).toFixed(1)} % per hour`}; fragmentation at most ${maxFragmentation.toFixed(2)}; append-only file at most ${formatBytes(maxAofBytes)}, rewritten ${aofRewrites} times${evicted > 0 ? `; ${formatCount(evicted)} keys evicted` : ""}`,
    ),
    ...(problems.length === 0 ? ["  nothing went wrong"] : problems.map((trouble) => `  trouble: ${trouble}`)),
  ];
}
