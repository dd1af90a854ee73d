import * as z from "zod";
import { bucketSchema } from "../archiver/pod-settings";
import { checkSettingsText } from "../../lib/pod/settings-text";
import { TTL_RULES } from "../../model/backup";

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

export function readRestorerSettings(text: string, expected: string | undefined): RestorerSettings {
  checkSettingsText(text, expected, "the settings of the restore's pod");
  // The checksum says that this package wrote the text.
  return schema.parse(JSON.parse(text));
}
