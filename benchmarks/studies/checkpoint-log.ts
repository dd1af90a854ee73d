import { z } from "zod";
import { type CheckpointLog, CheckpointLogStore } from "../../lib/system/checkpoint-log";
import { measurementSchema } from "../results/schema";
import { topologySchema } from "../../valkey/verification/topology-record";
import { tableGrowthSchema, interleavedTestSchema } from "../results/study-schema";

export const STUDY_CHECKPOINT_FILE = "checkpoints.jsonl";

const count = z.number().min(0);

const headerSchema = z.strictObject({
  kind: z.literal("study"),
  name: z.string(),
  fingerprint: z.string(),
  seed: z.int(),
  /** Start time, UTC, such as `20261121-090000`. */
  timestamp: z.string(),
  /** Identity of the machine. A study can be resumed only on the same machine. */
  machine: z.string(),
});
export type StudyLogHeader = z.infer<typeof headerSchema>;

const entrySchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("reference-load"),
    round: z.int(),
    place: z.int(),
    rps: count,
    startedAt: z.iso.datetime(),
    seconds: count,
    /** Versions of the servers, by engine. The default engine has an empty name. */
    versions: z.record(z.string(), z.string()).optional(),
  }),
  z.strictObject({
    kind: z.literal("treatment"),
    round: z.int(),
    treatment: z.string(),
    /** Seconds from the start of the treatment's servers until their end. */
    seconds: count,
    records: z.array(measurementSchema),
    topology: topologySchema,
    growth: tableGrowthSchema.nullable(),
  }),
  /** Entry for two treatments that received load in alternating time slices (see `running/interleaving.ts`). */
  z.strictObject({
    kind: z.literal("interleaved"),
    round: z.int(),
    base: z.string(),
    other: z.string(),
    seconds: count,
    tests: z.array(interleavedTestSchema),
  }),
  /** A failed step. `treatment` is the ID of the treatment, or `other beside base` for a pair. */
  z.strictObject({
    kind: z.literal("failure"),
    round: z.int(),
    treatment: z.string(),
    seconds: count,
    reason: z.string(),
  }),
]);
export type StudyLogEntry = z.infer<typeof entrySchema>;
export type TreatmentEntry = Extract<StudyLogEntry, { kind: "treatment" }>;
export type InterleavedEntry = Extract<StudyLogEntry, { kind: "interleaved" }>;
export type SliceCounts = InterleavedEntry["tests"][number]["base"];

export type StudyCheckpointLog = CheckpointLog<StudyLogHeader, StudyLogEntry>;

export const studyCheckpointLogs = new CheckpointLogStore<StudyLogHeader, StudyLogEntry>({
  subject: "study",
  file: STUDY_CHECKPOINT_FILE,
  header: headerSchema,
  entry: entrySchema,
});

/** By the name that treatments use for the engine; undefined is the default engine. */
type FoundVersions = ReadonlyMap<string | undefined, { readonly version: string }>;

export function recordedVersions(found: FoundVersions): Record<string, string> {
  return Object.fromEntries([...found].map(([engine, { version }]) => [engine ?? "", version]));
}

export function changedVersions(entries: readonly StudyLogEntry[], found: FoundVersions): string[] {
  return [...found].flatMap(([engine, { version }]) => {
    const before = entries.flatMap((entry) =>
      entry.kind === "reference-load" ? (entry.versions?.[engine ?? ""] ?? []) : [],
    );
    const others = [...new Set(before)].filter((each) => each !== version);
    return others.map(
      (other) =>
        `the study began with ${engine ?? "Valkey"} ${other}, and now finds ${version}; ` +
        `put ${other} on the PATH, or start a new study without --resume`,
    );
  });
}
