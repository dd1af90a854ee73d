/** Names of the Secret and the file that pods read while two passwords are valid. */

/** Name of the file from which a server reads its users when it starts. */
export const USERS_FILE = "users.acl";

/** Name of the Secret that exists while two passwords are valid. */
export function overlapSecret(deployment: string): string {
  return `${deployment}-password-overlap`;
}
