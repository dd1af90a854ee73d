export class Html {
  constructor(readonly text: string) {}
}

type Content = Html | string | number | undefined | readonly Content[];

/** It escapes values that are not `Html`, joins lists, and omits undefined values. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(
    strings.reduce((text, string, index) => text + string + (index < values.length ? render(values[index]) : ""), ""),
  );
}

function render(value: Content): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "string" || typeof value === "number") return escapeHtml(String(value));
  return value.map(render).join("");
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

export function section(title: Content, ...content: readonly Content[]): Html {
  return html`<section>
    <h2>${title}</h2>
    ${content}
  </section>`;
}

export function list(items: readonly Content[]): Html {
  return html`<ul>
    ${items.map((item) => html`<li>${item}</li>`)}
  </ul>`;
}

export function passOrFail(pass: boolean, [yes, no]: readonly [string, string]): Html {
  return html`<span class="${pass ? "pass" : "fail"}">${pass ? yes : no}</span>`;
}

/** Without names of columns, it has no row of headings. */
export function scrolledTable(...table: Parameters<typeof plainTable>): Html {
  return html`<div class="scroll">${plainTable(...table)}</div>`;
}

export function plainTable(
  columns: readonly string[],
  rows: readonly (readonly Content[])[],
  { headings = 0, isSmall = false }: { readonly headings?: number; readonly isSmall?: boolean } = {},
): Html {
  const row = (cells: readonly Content[], heads: number): Html =>
    html`<tr>
      ${cells.map((cell, index) => (index < heads ? html`<th>${cell}</th>` : html`<td>${cell}</td>`))}
    </tr>`;
  const head = html`<thead>
    ${row(columns, columns.length)}
  </thead>`;
  return html`<table${isSmall ? html` class="assertions"` : undefined}>
    ${columns.length === 0 ? undefined : head}
    <tbody>
      ${rows.map((cells) => row(cells, headings))}
    </tbody>
  </table>`;
}

export function renderPage(title: string, content: Html): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>
          ${new Html(REPORT_STYLE)}
        </style>
      </head>
      <body>
        <main>${content}</main>
      </body>
    </html> `;
  return page.text;
}

const REPORT_STYLE = `
:root { color-scheme: light; --ink: #1f2933; --soft: #5b6773; --line: #d5dbe1; --good: #00694b; --bad: #a83200; }
* { box-sizing: border-box; }
body { margin: 0; background: #f4f6f8; color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 960px; margin: 0 auto; padding: 16px; }
header, section { background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: 16px 20px; margin: 0 0 16px; }
h1 { margin: 0 0 4px; font-size: 26px; }
h2 { margin: 0 0 10px; font-size: 18px; }
h3 { margin: 0 0 8px; font-size: 14px; color: var(--soft); font-weight: 600; }
p { margin: 4px 0 8px; }
figure { margin: 0; }
figcaption, .note, small { color: var(--soft); font-size: 13px; }
small { display: block; }
svg { display: block; width: 100%; height: auto; }
.narrow { display: none; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); }
tr:last-child > * { border-bottom: 0; }
td b { font-size: 16px; }
.assertions { font-size: 13px; }
.pass { color: var(--good); font-weight: 600; }
.fail { color: var(--bad); font-weight: 600; }
.open { color: var(--soft); font-weight: 600; }
main > details { margin: 0 0 16px; }
main > details > summary { margin: 0 0 16px; padding: 4px 8px; font-weight: 600; }
.warning { color: var(--bad); font-weight: 600; }
.mark { display: inline-block; min-width: 18px; text-align: center; border-radius: 9px; background: #fbe3d6; color: var(--bad); font-size: 12px; font-weight: 700; }
dl { margin: 0; display: grid; grid-template-columns: max-content 1fr; gap: 6px 16px; }
dt { font-weight: 600; }
dd { margin: 0; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; font-size: 13px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px; margin-right: 6px; vertical-align: -1px; }
.deployments, section > ul { margin: 0; padding-left: 20px; }
code, pre { font: 12px/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; background: #f4f6f8; padding: 12px; border-radius: 6px; }
summary { cursor: pointer; margin-top: 10px; }
.zones { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: 12px; }
.zone { border: 1px dashed var(--line); border-radius: 8px; padding: 12px; }
.zone ul { list-style: none; margin: 0; padding: 0; display: grid; gap: 8px; }
.zone li { border: 2px solid var(--shard); border-radius: 6px; padding: 6px 10px; font-size: 13px; overflow-wrap: anywhere; }
.zone li.primary { background: var(--shard); color: #fff; }
.zone li.primary small { color: #fff; }
@media (max-width: 640px) {
  main { padding: 8px; }
  header, section { padding: 12px; }
  h1 { font-size: 22px; }
  dl { grid-template-columns: 1fr; }
  .wide { display: none; }
  .narrow { display: block; }
}
@media print { body { background: #fff; } section { break-inside: avoid; } }
`;
