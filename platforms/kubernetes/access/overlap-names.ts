/** Names of the Secrets and the files from which pods read passwords. */

/** File in a deployment's Secret that contains only the password of the user `admin` of Sentinels. */
export const SENTINEL_PASSWORD_FILE = "sentinel-password";

/** Name of the file from which a server reads its users when it starts. */
export const USERS_FILE = "users.acl";

/** Name of the Secret that exists while two passwords are valid. */
export function overlapSecret(deployment: string): string {
  return `${deployment}-password-overlap`;
}
