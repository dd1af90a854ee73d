/** A row of bench.json: one figure of this project beside what it is held against. */
import { z } from "zod";

export const benchRowSchema = z.strictObject({
  /** As the command line names it: `formation-48`. */
  id: z.string(),
  /** What was measured, how often, and what the ratio is of. */
  what: z.string(),
  /** Of `ours` and `reference`: `s`, `ms`, `rps`, `MB`, `%`, `files`, `studies`, or `exponent`. */
  unit: z.string(),
  ours: z.number(),
  /** Null where there is nothing to compare with. */
  reference: z.number().nullable(),
  ratio: z.number().nullable(),
  /** `≥ 8`: of the ratio where there is one, else of `ours`. */
  target: z.string(),
  met: z.boolean(),
});
export type BenchRow = z.infer<typeof benchRowSchema>;

/** What a figure has to reach. */
export interface RowTarget {
  readonly text: string;
  readonly holds: (figure: number) => boolean;
}

export const atLeast = (limit: number): RowTarget => ({ text: `≥ ${limit}`, holds: (figure) => figure >= limit });
export const atMost = (limit: number): RowTarget => ({ text: `≤ ${limit}`, holds: (figure) => figure <= limit });
export const below = (limit: number): RowTarget => ({ text: `< ${limit}`, holds: (figure) => figure < limit });

type Head = Pick<BenchRow, "id" | "what" | "unit">;

/** A figure of ours with nothing beside it. */
export function singleRow(head: Head, ours: number, target: RowTarget): BenchRow {
  return { ...head, ours, reference: null, ratio: null, target: target.text, met: target.holds(ours) };
}

/** Both figures, and how they compare. @param of which way round the ratio is, so that it says what the target is about */
export function comparedRow(
  head: Head,
  { ours, reference }: { readonly ours: number; readonly reference: number },
  of: "ours/reference" | "reference/ours",
  target: RowTarget,
): BenchRow {
  const ratio = of === "ours/reference" ? ours / reference : reference / ours;
  return { ...head, ours, reference, ratio, target: target.text, met: target.holds(ratio) };
}
