/** Text of the settings that `up` writes for a program in a pod. */
import { checksum } from "../checksum";
import { BadInput } from "../errors";

/** Environment variable with the checksum of the settings' text. */
export const CHECKSUM_VARIABLE = "SETTINGS_CHECKSUM";

/**
 * Checks that nobody has edited the settings.
 * @param expected checksum of the text that `up` wrote
 * @param where name of the settings for the message
 * @throws BadInput when the text differs from the text that `up` wrote
 */
export function checkSettingsText(text: string, expected: string | undefined, where: string): void {
  if (checksum(text) === expected) return;
  const advice = "run pulumi up --refresh, which writes them again";
  throw BadInput.of(where, "edited-by-hand", `the ConfigMap was edited by hand; ${advice}`);
}
