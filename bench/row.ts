/** Rows of bench.json: a figure of this project, the figure it is compared with, and its target. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { BadInput, codeOf, Failure, messageOf } from "../lib/errors";
import { textTable } from "../lib/table";
import { formatCount } from "../lib/units";

export const benchRowSchema = z.strictObject({
  /** Name on the command line: `formation-48`. */
  id: z.string(),
  /** Subject of the measurement, number of repeats, and which ratio it is. */
  what: z.string(),
  /** Unit of `ours` and `reference`: `s`, `ms`, `rps`, `MB`, `MiB`, `%`, `files`, `studies`, or `exponent`. */
  unit: z.string(),
  ours: z.number(),
  /** Null without a comparison. */
  reference: z.number().nullable(),
  ratio: z.number().nullable(),
  /** `≥ 8`: of the ratio where there is one, else of `ours`. */
  target: z.string(),
  met: z.boolean(),
});
export type BenchRow = z.infer<typeof benchRowSchema>;

/** Target of a figure. */
export interface RowTarget {
  readonly text: string;
  readonly holds: (figure: number) => boolean;
}

export const atLeast = (limit: number): RowTarget => ({ text: `≥ ${limit}`, holds: (figure) => figure >= limit });
export const atMost = (limit: number): RowTarget => ({ text: `≤ ${limit}`, holds: (figure) => figure <= limit });
export const below = (limit: number): RowTarget => ({ text: `< ${limit}`, holds: (figure) => figure < limit });
/** Target of a figure that is stated only. */
export const STATED: RowTarget = { text: "stated", holds: () => true };

type Head = Pick<BenchRow, "id" | "what" | "unit">;

/** A row whose target is about our figure. @param reference a figure beside it. @default none */
export function singleRow(head: Head, ours: number, target: RowTarget, reference: number | null = null): BenchRow {
  return { ...head, ours, reference, ratio: null, target: target.text, met: target.holds(ours) };
}

/** A row with a comparison. @param of the ratio that the target is about */
export function comparedRow(
  head: Head,
  { ours, reference }: { readonly ours: number; readonly reference: number },
  of: "ours/reference" | "reference/ours",
  target: RowTarget,
): BenchRow {
  const ratio = of === "ours/reference" ? ours / reference : reference / ours;
  return { ...head, ours, reference, ratio, target: target.text, met: target.holds(ratio) };
}

/** Rows as a table for the terminal. Pure. */
export function rowTable(results: readonly BenchRow[]): string[] {
  const figure = (value: number): string => (Math.abs(value) >= 1000 ? formatCount(value) : value.toPrecision(3));
  const rows = results.map(({ id, unit, ours, reference, ratio, target, met, what }) => [
    ...[id, figure(ours), reference === null ? "–" : figure(reference), unit],
    ...[ratio === null ? "–" : ratio.toPrecision(3), target, met ? "✓" : "✗ missed", what],
  ]);
  return textTable([["ID", "OURS", "REFERENCE", "UNIT", "RATIO", "TARGET", "MET", "WHAT"], ...rows], " rr r");
}

/** bench.json: the last result of every row, of whichever run. */
export class BenchFile {
  private constructor(
    readonly path: string,
    /** All ids, in the order of the file. */
    private readonly order: readonly string[],
    private rows: readonly BenchRow[],
  ) {}

  /**
   * Reads the file; a missing file is empty.
   * @throws BadInput when the file contains something else, which must not be overwritten
   */
  static open(path: string, order: readonly string[]): BenchFile {
    try {
      return new BenchFile(path, order, z.array(benchRowSchema).parse(JSON.parse(readFileSync(path, "utf8"))));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return new BenchFile(path, order, []);
      const why = codeOf(error) === undefined ? "does not contain results of this version" : messageOf(error);
      throw BadInput.of(path, "output-not-empty", `${why}; move it away, or pass another file with --output`);
    }
  }

  /**
   * Replaces a row, and drops rows of benchmarks that no longer exist. The file is written under another name and
   * renamed, so that it is always complete.
   * @throws Failure when it cannot be written
   */
  put(row: BenchRow): void {
    const byId = new Map([...this.rows, row].map((each) => [each.id, each]));
    this.rows = this.order.flatMap((id) => byId.get(id) ?? []);
    const temporary = `${this.path}.${process.pid}`;
    try {
      writeFileSync(temporary, `${JSON.stringify(this.rows, null, 2)}\n`);
      renameSync(temporary, this.path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw new Failure(`${this.path} cannot be written: ${messageOf(error)}`, { cause: error });
    }
  }
}
