/** Names of what pods read while two passwords are valid. */

/** The file from which a server reads its users when it starts. */
export const USERS_FILE = "users.acl";

/** The name of the Secret that exists as long as two passwords are valid. */
export function overlapSecret(deployment: string): string {
  return `${deployment}-password-overlap`;
}
