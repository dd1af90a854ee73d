/** Checks, and then the changes of running servers that come before the servers' objects change. */
import { inParts } from "../../protocol/in-parts";
import { handler as version, type ImageCheckInputs } from "./image-check";
import { handler as nodes, type ScaleInInputs, type ScaleInOutputs } from "./scale-in";
import { handler as settings, type SettingsInputs, type SettingsOutputs } from "./settings";
import { handler as certificate, type TlsCheckInputs, type TlsCheckOutputs } from "./tls-check";
import { handler as volumes, type VolumesInputs } from "./volumes";

export type PreparationInputs = ImageCheckInputs & TlsCheckInputs & ScaleInInputs & SettingsInputs & VolumesInputs;

export interface PreparationOutputs {
  readonly version: object;
  readonly certificate: TlsCheckOutputs;
  readonly nodes: ScaleInOutputs;
  readonly settings: SettingsOutputs;
  readonly volumes: object;
}

export const handler = inParts<PreparationInputs, PreparationOutputs>({
  version,
  certificate,
  nodes,
  settings,
  volumes,
});
