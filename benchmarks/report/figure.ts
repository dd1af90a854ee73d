/**
 * A chart as HTML. It contains drawings for wide and for narrow screens, and the style sheet shows the drawing that
 * fits. Pure.
 */
import { createRequire } from "node:module";
import type * as Echarts from "echarts";
import type { Chart, Width } from "./chart-base";
import type { Html } from "./html";
import { Html as RawHtml, html } from "./html";

/** Loads ECharts with the first chart. Loading takes half a second, so pages without charts do not load ECharts. */
const echarts = (): typeof Echarts => createRequire(__filename)("echarts") as typeof Echarts;

const CHART_WIDTHS: Readonly<Record<Width, number>> = { wide: 880, narrow: 360 };

export function renderFigure(chart: Chart): Html {
  const svg = (width: Width): Html => html`<div class="${width}">${new RawHtml(renderChart(chart, width))}</div>`;
  return html`<section>
    <figure id="${chart.id}">
      <h2>${chart.title}</h2>
      <p class="legend">
        ${chart.legend.map(({ name, colour }) => html`<span><i style="background: ${colour}"></i>${name}</span>`)}
      </p>
      ${svg("wide")}${svg("narrow")}
      <figcaption>${chart.caption}</figcaption>
    </figure>
  </section>`;
}

/** The chart as SVG text, with IDs that are unique in the page. */
function renderChart(chart: Chart, width: Width): string {
  const instance = echarts().init(null, null, {
    renderer: "svg",
    ssr: true,
    width: CHART_WIDTHS[width],
    height: chart.heights[width],
  });
  try {
    instance.setOption(chart.option(width));
    return instance
      .renderToSVGString()
      .replaceAll(/\bzr\d+-/g, (id) => `${chart.id}-${width}-${id}`)
      .replace("<svg ", `<svg role="img" aria-label="${chart.title}" `);
  } finally {
    instance.dispose();
  }
}
