/** HTML templates that escape all inserted text, and the parts that pages share. */
import { REPORT_STYLE } from "./style";

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

interface TableOptions {
  readonly headings?: number;
  readonly isSmall?: boolean;
}

/** Without names of columns, it has no row of headings. */
export function scrolledTable(...table: Parameters<typeof plainTable>): Html {
  return html`<div class="scroll">${plainTable(...table)}</div>`;
}

export function plainTable(
  columns: readonly string[],
  rows: readonly (readonly Content[])[],
  { headings = 0, isSmall = false }: TableOptions = {},
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
