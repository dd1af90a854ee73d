/** Settings of the controller's pod. `up` writes them to a ConfigMap. */
import * as z from "zod";
import { checkSettingsText } from "../lib/pod/settings-text";
import type { KubernetesReference } from "../platforms/deployment-reference";

export const CONTROLLER_PORT = 9_122;
/**
 * Time between two verifications of the deployment, seconds. Each verification sends some commands to every node. The
 * time is at most `max`, because the alert `ValkeyNotWatched` fires when the last verification is five minutes old.
 */
export const LOOK_SECONDS = { min: 5, max: 120, default: 30 } as const;
/** Time for which a machine must have been gone or not Ready before the controller replaces its pods, seconds. */
export const LOST_MACHINE_SECONDS = { min: 60, max: 86_400 } as const;

/** Reactions to shards that have lost their primary and cannot elect a replica. */
export const ON_LOST_MAJORITY = ["report", "takeover"] as const;
export type OnLostMajority = (typeof ON_LOST_MAJORITY)[number];

const schema = z.strictObject({
  target: z.custom<KubernetesReference>((value) => typeof value === "object" && value !== null),
  everySeconds: z.number().min(1),
  repair: z.boolean(),
  onLostMajority: z.enum(ON_LOST_MAJORITY),
  replaceLostMachinesAfterSeconds: z.number().min(1).optional(),
  repairSettings: z.boolean(),
  /** Memory limit of each pod, as a Kubernetes quantity. A repair raises maxmemory only on pods with this limit. */
  memoryLimit: z.string().optional(),
  passwordFile: z.string().min(1),
});

export type ControllerSettings = z.infer<typeof schema>;

/** @throws BadInput when the text differs from the text that `up` wrote */
export function readControllerSettings(text: string, expected: string | undefined): ControllerSettings {
  checkSettingsText(text, expected, "the controller's settings");
  // The checksum shows that this package wrote the text, so `target` is not checked further.
  return schema.parse(JSON.parse(text));
}
