import { compact } from "../../lib/compact";
import { formatBytes, formatCount, formatMs, formatPercent } from "../../lib/units";
import type { SoakFindings, SoakNodeFindings } from "./findings";
import type { Trend } from "./trend";

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
