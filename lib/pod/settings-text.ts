import { checksum } from "../checksum";
import { BadInput } from "../errors";

export const CHECKSUM_VARIABLE = "SETTINGS_CHECKSUM";

/** Nobody must have edited them. @param expected checksum of the text that `up` wrote. @throws BadInput */
export function checkSettingsText(text: string, expected: string | undefined, where: string): void {
  if (checksum(text) === expected) return;
  const advice = "run pulumi up --refresh, which writes them again";
  throw BadInput.of(where, "edited-by-hand", `the ConfigMap was edited by hand; ${advice}`);
}
