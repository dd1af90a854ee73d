import { randomBytes } from "node:crypto";
import { messageOf } from "../../lib/errors";
import type { Connection } from "../connection";
import { DEFAULT_USER, isOwnUser, OWN_USERS } from "./users";

/** The user `default` is not included. */
export type DesiredRules = Readonly<Record<string, string>>;

/** A server prints rules in its own words, so they are compared with those of a temporary user who cannot log in. */
export async function userProblems(node: Connection, wanted: DesiredRules): Promise<readonly string[]> {
  const names = ((await node.call("ACL", "USERS")) as unknown[]).map(String);
  const unknown = names.filter((name) => name !== DEFAULT_USER && !(name in wanted) && !isOwnUser(name));
  const problems = unknown.map((name) => `has a user ${name}`);
  for (const [name, rules] of Object.entries(wanted)) {
    if (!names.includes(name)) problems.push(`has no user ${name}`);
    else if (await rulesDiffer(node, name, rules)) problems.push(`has a user ${name} with different rules`);
  }
  return problems;
}

async function rulesDiffer(node: Connection, name: string, rules: string): Promise<boolean> {
  const found = await readRules(node, name);
  return await withTrialUser(node, rules, async (trial) => (await readRules(node, trial)) !== found);
}

/**
 * Rules of all users but those of this project. Servers print keys and passwords in the order in which they got them. The
 * passwords of `default` are left out: they differ for a moment while they change.
 */
export async function readAllRules(node: Connection): Promise<Map<string, string>> {
  const lines = ((await node.call("ACL", "LIST")) as unknown[]).map(String);
  const users = lines.map((line): [string, string] => {
    const [, name = "", ...words] = line.match(/\([^)]*\)|\S+/g) ?? [];
    // The order matters only between allowed and forbidden commands.
    const commands = words.filter((word) => /^[+-]/.test(word)).join(" ");
    const inOrder = commands.replaceAll(
      /(\+\S+ ?)+|(-\S+ ?)+/g,
      (same) => `${same.trim().split(" ").sort().join(" ")} `,
    );
    const others = words.filter((word) => !/^[+-]/.test(word) && !(name === DEFAULT_USER && word.startsWith("#")));
    return [name, [...others.sort(), inOrder].join(" ")];
  });
  return new Map(users.filter(([name]) => !isOwnUser(name)));
}

/** A user who can log in without a password, or not at all, gets a mark that differs from all correct rules. */
async function readRules(node: Connection, name: string): Promise<string> {
  const user = new Map(Object.entries(groupPairs((await node.call("ACL", "GETUSER", name)) as unknown[])));
  const flags = user.get("flags") as readonly string[];
  const isUsual = isOwnUser(name) || (flags.includes("on") && !flags.includes("nopass"));
  user.delete("flags");
  user.delete("passwords");
  return JSON.stringify([isUsual, ...user]);
}

function groupPairs(reply: readonly unknown[]): Record<string, unknown> {
  const pairs = reply.flatMap((key, index) => (index % 2 === 0 ? [[String(key), reply[index + 1]] as const] : []));
  return Object.fromEntries(pairs);
}

export async function refusalOf(node: Connection, rules: string): Promise<string | undefined> {
  try {
    await withTrialUser(node, rules, () => Promise.resolve());
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

async function withTrialUser<T>(node: Connection, rules: string, use: (name: string) => Promise<T>): Promise<T> {
  const name = `${OWN_USERS}trial-${randomBytes(4).toString("hex")}`;
  try {
    await node.call("ACL", "SETUSER", name, "reset", ...splitRules(rules));
    return await use(name);
  } finally {
    await node.call("ACL", "DELUSER", name);
  }
}

export function splitRules(rules: string): string[] {
  return rules.split(/\s+/).filter((word) => word !== "");
}
