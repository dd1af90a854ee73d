/** soak.html: memory, files, replication lag and latencies during a soak. Pure. */
import type { EChartsOption } from "echarts";
import { Histogram } from "../../lib/histogram";
import type { SoakFindings } from "../soak/findings";
import { describeSoakFindings } from "../soak/describe-findings";
import { maxReplicaLag } from "../soak/findings";
import { nodeSeries } from "../soak/trend";
import type { SoakHeader, SoakWindow } from "../soak/checkpoint-log";
import type { NodeSample } from "../soak/node-sample";
import { formatDuration, formatPercent } from "../../lib/units";
import type { Chart } from "./chart-base";
import { axisLabel, chartBase, colourOf, splitLine } from "./chart-base";
import { renderFigure } from "./figure";
import { html } from "./html";
import { renderPage } from "./html-page";

const MEBI = 2 ** 20;

export interface SoakReport {
  readonly header: SoakHeader;
  readonly windows: readonly SoakWindow[];
  readonly findings: readonly SoakFindings[];
  /** Reason why the soak ended early; null if the soak did not end early. */
  readonly reason: string | null;
}

export function renderSoak({ header, windows, findings, reason }: SoakReport): string {
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
      ${findings.map(
        (each) =>
          html`<section>
            <h2>${each.deployment}</h2>
            <ul>
              ${describeSoakFindings(each).map((line) => html`<li>${line.trim()}</li>`)}
            </ul>
          </section>`,
      )}
      ${findings
        .flatMap(({ deployment }) =>
          chartsOf(
            deployment,
            windows.filter((window) => window.deployment === deployment),
          ),
        )
        .map(renderFigure)}`,
  );
}

interface Series {
  readonly name: string;
  readonly points: readonly (readonly [hours: number, value: number])[];
}

function chartsOf(deployment: string, windows: readonly SoakWindow[]): Chart[] {
  const nodes = [...new Set(windows.flatMap(({ samples }) => samples.map(({ node }) => node)))];
  const perNode = (value: (sample: NodeSample) => number | null): Series[] =>
    nodes.map((node) => ({ name: node, points: nodeSeries(node, windows, value).map(({ x, y }) => [x, y] as const) }));
  const perWindow = (name: string, value: (window: SoakWindow) => number): Series => {
    const start = Date.parse(windows[0]?.at ?? "");
    return {
      name,
      points: windows.map((window) => [(Date.parse(window.at) - start) / 3_600_000, value(window)] as const),
    };
  };
  const tail =
    (part: number) =>
    (window: SoakWindow): number =>
      Histogram.decode(window.latencies).percentileMs(part);
  return [
    lines(
      `${deployment}-memory`,
      `${deployment}: memory`,
      "MiB that each server uses (used_memory).",
      perNode(({ usedBytes }) => (usedBytes === null ? null : usedBytes / MEBI)),
    ),
    lines(
      `${deployment}-resident`,
      `${deployment}: resident memory`,
      "MiB of physical memory of each server; the difference from the chart above is fragmentation and copy-on-write of forks.",
      perNode(({ residentBytes }) => (residentBytes === null ? null : residentBytes / MEBI)),
    ),
    lines(
      `${deployment}-aof`,
      `${deployment}: append-only files`,
      "MiB. A line falls when the file was rewritten.",
      perNode(({ aofBytes }) => (aofBytes === null ? null : aofBytes / MEBI)),
    ),
    lines(
      `${deployment}-tails`,
      `${deployment}: latency`,
      "Milliseconds from the intended time of each request, by window.",
      [perWindow("p50", tail(0.5)), perWindow("p99", tail(0.99)), perWindow("p99.9", tail(0.999))],
    ),
    lines(
      `${deployment}-behind`,
      `${deployment}: replication lag`,
      "KiB of the replication stream that the slowest replica has not received yet.",
      [perWindow("slowest replica", ({ samples }) => maxReplicaLag(samples) / 1024)],
    ),
  ];
}

function lines(id: string, title: string, caption: string, all: readonly Series[]): Chart {
  const shown = all.filter(({ points }) => points.length > 0);
  return {
    id: `soak-${id}`,
    title,
    caption,
    legend: shown.map(({ name }, index) => ({ name, colour: colourOf(index) })),
    heights: { wide: 260, narrow: 240 },
    option: (width): EChartsOption => ({
      ...chartBase(width),
      xAxis: {
        type: "value",
        name: "hours",
        nameLocation: "middle",
        nameGap: 28,
        axisLabel: axisLabel(width),
        splitLine: { show: false },
      },
      yAxis: { type: "value", min: 0, axisLabel: axisLabel(width), splitLine },
      series: shown.map(({ points }, index) => ({
        type: "line" as const,
        data: points.map((point) => [...point]),
        symbol: "none",
        lineStyle: { width: 1.5, color: colourOf(index) },
        itemStyle: { color: colourOf(index) },
      })),
    }),
  };
}
