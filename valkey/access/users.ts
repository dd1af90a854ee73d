import { createHash } from "node:crypto";

interface User {
  /** Rules in the syntax of ACL SETUSER, such as `+@read ~app:*`. */
  readonly rules: string;
  readonly password: string;
}

export type Users = Readonly<Record<string, User>>;

export interface Credentials {
  /** This user has all rights. */
  readonly password: string;
  readonly users: Users;
  /** @default Sentinels have only the user `default`, with all rights */
  readonly sentinelPassword?: string | undefined;
}

export const DEFAULT_USER = "default";
/** `default` can then only read there (components/kubernetes/scripts/sentinel.sh). */
export const SENTINEL_ADMIN = "admin";

/** Prefix of the names of users that this project creates for a short time. */
export const OWN_USERS = "valkey-measured-";

export const isOwnUser = (name: string): boolean => name.startsWith(OWN_USERS);

/** They are not secret. */
export function rulesOf({
  users,
}: {
  readonly users: Readonly<Record<string, Pick<User, "rules">>>;
}): Record<string, string> {
  return Object.fromEntries(Object.entries(users).map(([name, { rules }]) => [name, rules]));
}

export const NO_RIGHTS = ["on", "clearselectors", "resetkeys", "resetchannels", "-@all"] as const;

export function everyUser({ password, users }: Credentials): (User & { readonly name: string })[] {
  const others = Object.entries(users).map(([name, user]) => ({ name, ...user }));
  return [{ name: DEFAULT_USER, rules: "~* &* +@all", password }, ...others];
}

/** Servers store and print passwords in this form. */
export function passwordHash(password: string): string {
  return createHash("sha256").update(password).digest("hex");
}

/** Contains only hashes of passwords. @param accepted hashes of further passwords, by user */
export function aclFile(
  credentials: Credentials,
  accepted: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): string {
  return everyUser(credentials)
    .map(({ name, rules, password }) => {
      const hashes = new Set([passwordHash(password), ...(accepted.get(name) ?? [])]);
      return `user ${name} on ${[...hashes].map((hash) => `#${hash}`).join(" ")} ${rules}\n`;
    })
    .join("");
}

/** Only users that are in both credentials are compared. */
export function passwordsDiffer(before: Credentials, after: Credentials): boolean {
  const former = new Map(everyUser(before).map(({ name, password }) => [name, password]));
  const differ = (was: string | undefined, is: string | undefined): boolean =>
    was !== undefined && is !== undefined && was !== is;
  return (
    everyUser(after).some(({ name, password }) => differ(former.get(name), password)) ||
    differ(before.sentinelPassword, after.sentinelPassword)
  );
}

/** Servers check some hundred thousand passwords per second, so a short password can be guessed. */
const MIN_PASSWORD = 16;

/** @param isPlain whether Sentinels write the password to their files, where it is not quoted */
export function passwordProblem(password: string, isPlain: boolean): string | undefined {
  if (password.length < MIN_PASSWORD) return `has ${password.length} characters; expected at least ${MIN_PASSWORD}`;
  if (isPlain && !/^[\w.-]+$/.test(password))
    return "has characters that Sentinels cannot store; expected letters, digits, `.`, `_` and `-`";
  return /[\u0000-\u001f\u007f]/.test(password) ? "has control characters" : undefined;
}

/** Problem of a user's name. Undefined if the name is allowed. */
export function userNameProblem(name: string): string | undefined {
  if (name === DEFAULT_USER)
    return "is the user with all rights, and its password is the password of the deployment; choose a different name";
  if (isOwnUser(name)) return `is a reserved name: this program deletes every user whose name begins with ${OWN_USERS}`;
  return /^[A-Za-z0-9][\w.-]{0,62}$/.test(name)
    ? undefined
    : "expected letters, digits, `.`, `_` and `-`, at most 63 characters, a letter or digit first";
}

/** Finds only problems that can be found without a server. */
export function rulesProblem(rules: string): string | undefined {
  if (rules.trim() === "" || /[\n\r"']/.test(rules))
    return "expected one line of rules, such as `+@read ~app:*`, without quotes";
  const refused = rules
    .split(/\s+/)
    .filter((word) => /^([><#!]|(no|reset)pass$|reset$|on$|off$|sanitize|skip)/i.test(word));
  // The message does not repeat the refused word, because that word may be a password.
  return refused.length === 0
    ? undefined
    : "expected only rules for commands, keys and channels; passwords, on, off and reset are not allowed";
}
