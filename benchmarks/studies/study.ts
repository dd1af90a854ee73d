import { createHash } from "node:crypto";
import type { Treatment } from "./factors";
import type { StudyLimits } from "./rounds";

export const STUDY_KINDS = ["topologies", "io-threads", "engines", "density", "billion", "comparison"] as const;
export type StudyKind = (typeof STUDY_KINDS)[number];

export interface TableGrowthPlan {
  readonly keys: number;
  /** Size of a value, bytes. */
  readonly dataSize: number;
}

export interface Study extends StudyLimits {
  readonly name: string;
  readonly kind: StudyKind;
  readonly treatments: readonly Treatment[];
  readonly seed: number;
  readonly tableGrowth: TableGrowthPlan | undefined;
}

/** The version changes with the method, so a study does not resume a log of an older method. */
const METHOD = "interleaved 3";

/** Equal for studies that measure the same treatments in the same way, also with another precision or budget. */
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
