import { z } from "zod";
import { eksPlatformSchema } from "./eks";
import { kubernetesSchema } from "./kubernetes";

const zoneName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "expected letters, digits, dots, hyphens and underscores");

const hostSchema = z
  .strictObject({
    /** Platform. */
    type: z.literal("host"),
    /** Names of zones, assigned to the servers in turn. They are only labels, because one machine has no zones. */
    zones: z.array(zoneName).min(1).default(["zone-a", "zone-b", "zone-c"]),
  })
  .meta({ title: "host", description: "Processes on this machine." });
export type HostConfig = z.infer<typeof hostSchema>;

/** The section `platform`. */
export const platformSchema = z.discriminatedUnion("type", [hostSchema, kubernetesSchema, eksPlatformSchema]);
/** The section `platform`, parsed. */
export type PlatformConfig = z.infer<typeof platformSchema>;
