/** A header line, then one line for each window of one deployment, or a start of the servers. */
import { z } from "zod";
import { type CheckpointLog, CheckpointLogStore } from "../../lib/system/checkpoint-log";
import { nodeSampleSchema } from "./node-sample";

export const SOAK_LOG_FILE = "soak.jsonl";

const headerSchema = z.strictObject({
  kind: z.literal("soak"),
  stack: z.string(),
  timestamp: z.string(),
  /** Duration of the whole soak, seconds. */
  seconds: z.number().positive(),
  /** Duration of a window, seconds. */
  windowSeconds: z.number().positive(),
  /** Requests per second that each deployment receives. */
  rate: z.number().positive(),
  /** Share of the requests that are reads. */
  reads: z.number(),
  /** Number of keys. */
  keySpace: z.int(),
  /** Size of a value, bytes. */
  bytes: z.int(),
  /** Seed for random arrivals, keys and values in the first window. The seed of each later window is higher by one. */
  seed: z.int(),
  /** Limit of the total size of all servers' files, bytes. */
  diskBytes: z.number().positive(),
});
export type SoakHeader = z.infer<typeof headerSchema>;

const entrySchema = z.discriminatedUnion("kind", [
  /** The servers start: at the beginning, or when a soak is resumed after they have ended. `run` is their directory. */
  z.strictObject({ kind: z.literal("servers"), run: z.string(), version: z.string(), at: z.string() }),
  z.strictObject({
    kind: z.literal("window"),
    deployment: z.string(),
    at: z.string(),
    /** Seconds for which load was offered in the window. */
    seconds: z.number(),
    offered: z.number(),
    acknowledged: z.number(),
    failed: z.number(),
    unknown: z.number(),
    /**
     * Latencies of acknowledged requests, measured from the intended time. The text is an encoded HdrHistogram in
     * microseconds.
     */
    latencies: z.string(),
    samples: z.array(nodeSampleSchema),
    /** Total size of all files of the deployment's servers, bytes. */
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
