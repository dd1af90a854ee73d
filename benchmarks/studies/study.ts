/** A study as it is put on record: what is measured, how well it should be known, and from which seed. Plain data. */
import { createHash } from "node:crypto";
import type { Treatment } from "./factors";
import type { StudyLimits } from "./rounds";

/** What a study is evaluated as: one of the five documents', or only as comparisons. */
export const STUDY_KINDS = ["topologies", "io-threads", "engines", "density", "billion", "comparison"] as const;
export type StudyKind = (typeof STUDY_KINDS)[number];

/** Keys put in from nothing, while memory and rate are watched: how an engine's table grows. */
export interface TableGrowthPlan {
  /** Keys at the end. */
  readonly keys: number;
  /** Bytes per value. */
  readonly dataSize: number;
}

export interface Study extends StudyLimits {
  readonly name: string;
  readonly kind: StudyKind;
  /** The first is what the others are compared with. */
  readonly treatments: readonly Treatment[];
  readonly seed: number;
  /** Measured on every treatment as well, in every round. */
  readonly tableGrowth: TableGrowthPlan | undefined;
}

/** How treatments are held against each other. Another number when that changes: an older log lacks what is decided by now. */
const METHOD = "side-by-side 2";

/** Two studies with the same fingerprint measure the same things in the same way; how well and how long may differ. */
export function fingerprint({ kind, treatments, tableGrowth }: Study): string {
  const text = JSON.stringify(
    { method: METHOD, kind, treatments: treatments, growth: tableGrowth ?? null },
    (_key, value: unknown) =>
      isPlain(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
