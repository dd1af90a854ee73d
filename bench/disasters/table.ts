/** The table of disasters as Markdown, and its place in a document. Pure. */

/** One cell: what a disaster did to a deployment. */
export interface Outcome {
  /** Writes that a replica had acknowledged and that are gone. */
  readonly lost: number;
  /** Longest time without writes, seconds; null where writes failed to the end. */
  readonly outSeconds: number | null;
  /** Assertions of the verdict that failed while it lasted. */
  readonly during: readonly string[];
  /** Assertions that failed after it; empty when the deployment passed verification. */
  readonly after: readonly string[];
}

interface DisasterTable {
  readonly columns: readonly string[];
  /** A title, and a cell for each column; undefined where it was not tried. */
  readonly rows: readonly (readonly [title: string, cells: readonly (Outcome | string | undefined)[]])[];
}

export function formatOutcome(outcome: Outcome | string | undefined): string {
  if (outcome === undefined) return "–";
  if (typeof outcome === "string") return outcome;
  const { lost, outSeconds, during, after } = outcome;
  const out = outSeconds === null ? "no end" : `${outSeconds.toFixed(1)} s`;
  if (after.length > 0) return `${lost} · ${out} · FAIL: ${after.join(", ")}`;
  return `${lost} · ${out} · ${during.length === 0 ? "" : `${listed(during)}, then `}PASS`;
}

const MAX_LISTED = 3;

function listed(ids: readonly string[]): string {
  return ids.length <= MAX_LISTED ? ids.join(", ") : `${ids.length} assertions`;
}

export function formatTable({ columns, rows }: DisasterTable): string {
  const lines = [
    ["disaster", ...columns],
    ["---", ...columns.map(() => "---")],
  ];
  for (const [title, cells] of rows) lines.push([title, ...cells.map(formatOutcome)]);
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/**
 * Replaces what stands between the markers of a table. A cell that is not tried keeps what the former table has in its place.
 * @throws Error when the document has no such markers
 */
export function replaceTable(document: string, name: string, table: DisasterTable): string {
  const { before, former, after } = partsOf(document, name);
  const cells = new Map(former.split("\n").map((line) => cellsOf(line)));
  const rows = table.rows.map(
    ([title, row]) => [title, row.map((cell, index) => cell ?? cells.get(title)?.[index])] as const,
  );
  return `${before}\n${formatTable({ ...table, rows })}\n${after}`;
}

function partsOf(document: string, name: string): { before: string; former: string; after: string } {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const from = document.indexOf(begin) + begin.length;
  const to = document.indexOf(end);
  if (from < begin.length || to < from) throw new Error(`the document has no table ${name}`);
  return { before: document.slice(0, from), former: document.slice(from, to), after: document.slice(to) };
}

function cellsOf(line: string): [title: string, cells: string[]] {
  const [, title = "", ...cells] = line.split("|").map((cell) => cell.trim());
  return [title, cells];
}
