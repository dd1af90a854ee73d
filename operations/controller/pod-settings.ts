/** Settings of the controller's pod. `up` writes them to a ConfigMap. */
import * as z from "zod";
import { checkSettingsText } from "../../lib/pod/settings-text";
import { CONTROLLER_FIELDS } from "../../model/deployment";
import type { KubernetesReference } from "../../platforms/deployment-reference";

export const CONTROLLER_PORT = 9_122;
const schema = z.strictObject({
  target: z.custom<KubernetesReference>((value) => typeof value === "object" && value !== null),
  ...CONTROLLER_FIELDS,
  // Tests of the pod wait for less time than a deployment may.
  everySeconds: z.number().min(1),
  replaceLostMachinesAfterSeconds: z.number().min(1).optional(),
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
