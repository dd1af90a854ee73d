/** A row of bench.json: a figure of this project, the figure it is compared with, and its target. */
import { z } from "zod";

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

type Head = Pick<BenchRow, "id" | "what" | "unit">;

/** A row without a comparison. */
export function singleRow(head: Head, ours: number, target: RowTarget): BenchRow {
  return { ...head, ours, reference: null, ratio: null, target: target.text, met: target.holds(ours) };
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
