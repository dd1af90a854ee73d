export const SENTINEL_PASSWORD_FILE = "sentinel-password";

export const USERS_FILE = "users.acl";

export function overlapSecret(deployment: string): string {
  return `${deployment}-password-overlap`;
}
