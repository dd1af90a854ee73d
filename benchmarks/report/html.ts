/** HTML templates that escape all inserted text. Pure. */

/** HTML that needs no escaping. */
export class Html {
  constructor(readonly text: string) {}
}

type Content = Html | string | number | undefined | readonly Content[];

/** An HTML template. It escapes values that are not `Html`, joins lists, and omits undefined values. */
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
