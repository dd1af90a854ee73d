/** HTML written by hand, with everything that comes from outside escaped. Pure. */

/** A piece of HTML that needs no escaping. */
export class Html {
  constructor(readonly text: string) {}
}

type Content = Html | string | number | undefined | readonly Content[];

/** A template whose values are escaped unless they are Html; lists are joined, undefined is nothing. */
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
