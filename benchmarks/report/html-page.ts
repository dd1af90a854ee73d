/** The frame of an HTML page: head with style sheet, and body. Pure. */
import { Html, html } from "./html";
import { REPORT_STYLE } from "./style";

/** A whole page as text. */
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
