import { Histogram } from "../../lib/histogram";
import { formatDuration, formatPercent } from "../../lib/units";
import type { SoakHeader, SoakWindow } from "../soak/checkpoint-log";
import { type SoakFindings, describeSoakFindings, maxReplicaLag } from "../soak/findings";
import type { NodeSample } from "../soak/node-sample";
import { nodeSeries } from "../soak/trend";
import { type Chart, colourOf, legendOf, line, renderFigure } from "./chart";
import { html, list, renderPage, section } from "./html";

const MEBI = 2 ** 20;

interface SoakReport {
  readonly header: SoakHeader;
  readonly windows: readonly SoakWindow[];
  readonly findings: readonly SoakFindings[];
  readonly reason: string | null;
}

export function renderSoak({ header, windows, findings, reason }: SoakReport): string {
  const charts = findings.flatMap(({ deployment }) => chartsOf(deployment, windows));
  return renderPage(
    `Valkey, soaked: ${header.stack}, ${header.timestamp}`,
    html`<header>
        <h1>Valkey, soaked</h1>
        <p>
          Stack <b>${header.stack}</b>, ${header.timestamp} UTC: ${header.rate} requests per second on each deployment,
          ${formatPercent(header.reads)} of them reads, ${header.keySpace} keys, values of ${header.bytes} B, for
          ${formatDuration(header.seconds)} in windows of ${header.windowSeconds} s.
        </p>
        ${reason === null ? undefined : html`<p class="warning">Incomplete: ${reason}. Partial results follow.</p>`}
      </header>
      ${findings.map((each) =>
        section(each.deployment, list(describeSoakFindings(each).map((finding) => finding.trim()))),
      )}
      ${charts.map(renderFigure)}`,
  );
}

interface Series {
  readonly name: string;
  readonly points: readonly (readonly [hours: number, value: number])[];
}

function chartsOf(deployment: string, all: readonly SoakWindow[]): Chart[] {
  const windows = all.filter((window) => window.deployment === deployment);
  const nodes = [...new Set(windows.flatMap(({ samples }) => samples.map(({ node }) => node)))];
  const mebibytes = (field: "usedBytes" | "residentBytes" | "aofBytes"): Series[] => {
    const value = ({ [field]: bytes }: NodeSample): number | null => (bytes === null ? null : bytes / MEBI);
    return nodes.map((name) => ({ name, points: nodeSeries(name, windows, value).map(({ x, y }) => [x, y]) }));
  };
  const start = Date.parse(windows[0]?.at ?? "");
  const perWindow = (name: string, value: (window: SoakWindow) => number): Series => ({
    name,
    points: windows.map((window) => [(Date.parse(window.at) - start) / 3_600_000, value(window)]),
  });
  const tail = (name: string, part: number): Series =>
    perWindow(name, ({ latencies }) => Histogram.decode(latencies).percentileMs(part));
  const charts: readonly (readonly [id: string, title: string, caption: string, series: readonly Series[]])[] = [
    ["memory", "memory", "MiB that each server uses (used_memory).", mebibytes("usedBytes")],
    [
      "resident",
      "resident memory",
      "MiB of physical memory of each server; the difference from the chart above is fragmentation and copy-on-write of forks.",
      mebibytes("residentBytes"),
    ],
    ["aof", "append-only files", "MiB. A line falls when the file was rewritten.", mebibytes("aofBytes")],
    [
      "tails",
      "latency",
      "Milliseconds from the intended time of each request, by window.",
      [tail("p50", 0.5), tail("p99", 0.99), tail("p99.9", 0.999)],
    ],
    [
      "behind",
      "replication lag",
      "KiB of the replication stream that the slowest replica has not received yet.",
      [perWindow("slowest replica", ({ samples }) => maxReplicaLag(samples) / 1024)],
    ],
  ];
  return charts.map(([id, title, caption, series]): Chart => {
    const shown = series.filter(({ points }) => points.length > 0);
    return {
      id: `soak-${deployment}-${id}`,
      title: `${deployment}: ${title}`,
      caption,
      legend: legendOf(shown.map(({ name }) => name)),
      heights: { wide: 260, narrow: 240 },
      x: { type: "value", name: "hours", splitLine: { show: false } },
      y: { type: "value", min: 0 },
      marks: () => shown.map(({ points }, index) => line({ colour: colourOf(index), size: 1.5, points })),
    };
  });
}
