/** soak.jsonl: each window of a soak, a line each. */
import { z } from "zod";
import type { CheckpointLog } from "../../lib/checkpoint-log";
import { CheckpointLogStore } from "../../lib/checkpoint-log";
import { nodeSampleSchema } from "./node-sample";

export const SOAK_LOG_FILE = "soak.jsonl";

const headerSchema = z.strictObject({
  kind: z.literal("soak"),
  stack: z.string(),
  timestamp: z.string(),
  /** How long it shall last, and each window, seconds. */
  seconds: z.number().positive(),
  windowSeconds: z.number().positive(),
  rate: z.number().positive(),
  reads: z.number(),
  keySpace: z.int(),
  bytes: z.int(),
  /** Of the first window's draws of arrivals, keys and values; each window has the next. */
  seed: z.int(),
  /** Bytes that the files of all servers may take. */
  diskBytes: z.number().positive(),
});
export type SoakHeader = z.infer<typeof headerSchema>;

const entrySchema = z.discriminatedUnion("kind", [
  /** Servers that were started, and where; the first time, and when those before are gone. */
  z.strictObject({ kind: z.literal("servers"), run: z.string(), version: z.string(), at: z.string() }),
  z.strictObject({
    kind: z.literal("window"),
    deployment: z.string(),
    at: z.string(),
    /** That the load lasted. */
    seconds: z.number(),
    offered: z.number(),
    acknowledged: z.number(),
    failed: z.number(),
    unknown: z.number(),
    /** Of acknowledged requests from the intended time: HDR's own format, microseconds. */
    latencies: z.string(),
    samples: z.array(nodeSampleSchema),
    /** That the files of the deployment's servers take. */
    diskBytes: z.number(),
  }),
]);
export type SoakEntry = z.infer<typeof entrySchema>;
export type SoakWindow = Extract<SoakEntry, { kind: "window" }>;

export type SoakCheckpointLog = CheckpointLog<SoakHeader, SoakEntry>;

export const soakCheckpointLogs = new CheckpointLogStore<SoakHeader, SoakEntry>({
  subject: "soak",
  file: SOAK_LOG_FILE,
  header: headerSchema,
  entry: entrySchema,
});

export function windowsOf({ entries }: Pick<SoakCheckpointLog, "entries">): SoakWindow[] {
  return entries.filter((entry) => entry.kind === "window");
}
