/** checkpoints.jsonl: everything a study has finished, a line each. */
import { z } from "zod";
import type { CheckpointLog } from "../../lib/checkpoint-log";
import { CheckpointLogStore } from "../../lib/checkpoint-log";
import { measurementSchema, topologySchema } from "../results/schema";
import { tableGrowthSchema, interleavedTestSchema } from "../results/study-schema";

export const STUDY_CHECKPOINT_FILE = "checkpoints.jsonl";

const count = z.number().min(0);

const headerSchema = z.strictObject({
  kind: z.literal("study"),
  name: z.string(),
  fingerprint: z.string(),
  seed: z.int(),
  /** UTC, as results have it. */
  timestamp: z.string(),
  /** What the machine is told apart by. */
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
    /** Of every engine there was, by its name; that without one has none. */ versions: z
      .record(z.string(), z.string())
      .optional(),
  }),
  z.strictObject({
    kind: z.literal("treatment"),
    round: z.int(),
    treatment: z.string(),
    /** From the start of its servers to their end. */
    seconds: count,
    records: z.array(measurementSchema),
    topology: topologySchema,
    growth: tableGrowthSchema.nullable(),
  }),
  /** Two treatments in alternating slices; see `slices.ts`. */
  z.strictObject({
    kind: z.literal("interleaved"),
    round: z.int(),
    base: z.string(),
    other: z.string(),
    seconds: count,
    tests: z.array(interleavedTestSchema),
  }),
  /** `treatment` is a treatment's, or what two of them are called: see `subjectOf`. */
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
