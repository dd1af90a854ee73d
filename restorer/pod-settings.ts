/** Settings of the pods that restore an archive: `NAME-restore` and `NAME-drill`. `up` writes them to ConfigMaps. */
import * as z from "zod";
import { bucketSchema } from "../archiver/pod-settings";
import { checkSettingsText } from "../lib/pod/settings-text";
import { TTL_RULES } from "../valkey/restoring/key-selection";

/** Environment variable with the value `yes` if an earlier pod may have written a part of the data. */
export const CONTINUES_VARIABLE = "CONTINUES";

/** Fills an empty deployment with archived data. */
const fillSchema = z.strictObject({
  kind: z.literal("fill"),
  deployment: z.string().min(1),
  mode: z.enum(["replication", "cluster"]),
  /** DNS name of a service record that has the host name and the port of each server. */
  servers: z.string().min(1),
  passwordFile: z.string().min(1),
  /** Certificate of the authority that signed the servers' certificates. @default no TLS */
  caFile: z.string().optional(),
  /** Time to restore, milliseconds since the epoch. @default the last time of the archive */
  at: z.number().optional(),
  /** Patterns of the keys. The list is empty for all keys. */
  keys: z.array(z.string().min(1)),
  ttl: z.enum(TTL_RULES),
});

/** Restores the archive of a deployment for a test, and records the proof in the archive. */
const drillSchema = z.strictObject({ kind: z.literal("drill"), deployment: z.string().min(1) });

const schema = z.strictObject({
  place: bucketSchema,
  /** Directory with the files `accessKeyId` and `secretAccessKey`. @default the credentials of the pod's role */
  credentialsDirectory: z.string().optional(),
  /** Directory that the program shares with the container of the staging servers. */
  directory: z.string().min(1),
  task: z.discriminatedUnion("kind", [fillSchema, drillSchema]),
});

export type RestorerSettings = z.infer<typeof schema>;
export type FillTask = z.infer<typeof fillSchema>;
export type DrillTask = z.infer<typeof drillSchema>;

/**
 * Reads the settings.
 * @param expected checksum of the text that `up` wrote
 * @throws BadInput when the text differs from the text that `up` wrote
 */
export function readRestorerSettings(text: string, expected: string | undefined): RestorerSettings {
  checkSettingsText(text, expected, "the settings of the restore's pod");
  // The checksum says that this package wrote the text.
  return schema.parse(JSON.parse(text));
}

const resultSchema = z.strictObject({
  /** First and last time as of which a shard was restored, milliseconds since the epoch. */
  from: z.number(),
  to: z.number(),
  shards: z.int(),
  keys: z.int(),
  /** Number of keys whose TTL passed before they were written. */
  expired: z.int(),
});

/** Result of filling a deployment. The pod writes it as JSON to its termination message. */
export type FillResult = z.infer<typeof resultSchema>;

/** Parses the termination message of a pod. @throws Error for any other text */
export function parseFillResult(text: string): FillResult {
  return resultSchema.parse(JSON.parse(text));
}
