import * as z from "zod";
import type { DrillInterval } from "../../model/backup";
import { checkSettingsText } from "../../lib/pod/settings-text";

export const ARCHIVER_PORT = 9_123;
export const READY_PATH = "/ready";
export const DRILL_SECONDS: Readonly<Record<DrillInterval, number>> = {
  daily: 86_400,
  weekly: 604_800,
  monthly: 2_678_400,
};

export const bucketSchema = z.strictObject({
  bucket: z.string().min(1),
  prefix: z.string(),
  endpoint: z.string().optional(),
  region: z.string().optional(),
  encryption: z.string().optional(),
});

const schema = z.strictObject({
  deployment: z.string().min(1),
  mode: z.enum(["replication", "cluster"]),
  /** DNS name of a service record that has the host name and the port of each server. */
  servers: z.string().min(1),
  place: bucketSchema,
  /** Directory with the files `accessKeyId` and `secretAccessKey`. @default the credentials of the pod's role */
  credentialsDirectory: z.string().optional(),
  baseEverySeconds: z.number().min(1),
  keepSeconds: z.number().min(1),
  /** Time between two drills, for a metric. @default no drills */
  drillEverySeconds: z.number().min(1).optional(),
  /** Directory for data that are not in the bucket yet. */
  spoolDirectory: z.string().min(1),
  /** Highest number of bytes in the spool directory, all shards together. */
  spoolBytes: z.number().min(1),
  passwordFile: z.string().min(1),
  /** Certificate of the authority that signed the servers' certificates. @default no TLS */
  caFile: z.string().optional(),
});

export type ArchiverSettings = z.infer<typeof schema>;

export function readArchiverSettings(text: string, expected: string | undefined): ArchiverSettings {
  checkSettingsText(text, expected, "the settings of the archive's pod");
  // The checksum says that this package wrote the text.
  return schema.parse(JSON.parse(text));
}
