/** Users change while servers run: no server restarts, and only the connections of deleted users are closed. */
import { compact } from "../../lib/compact";
import { Failure } from "../../lib/errors";
import type { Connection } from "../connection";
import { withConnections } from "../connections";
import type { Deployment } from "../deployment";
import { sentinelsAsDeployment } from "../sentinel/form-sentinels";
import { refusalOf, userProblems, splitRules } from "./read-users";
import { type Credentials, DEFAULT_USER, everyUser, NO_RIGHTS, passwordHash, rulesOf, SENTINEL_ADMIN } from "./users";

/** Repeat an interrupted call. @throws Failure, after which passwords accepted before are still accepted */
export async function addAccess(
  deployment: Deployment,
  credentials: Credentials,
  removed: readonly string[],
): Promise<void> {
  const users = everyUser(credentials);
  await withConnections(deployment, async (connections) => {
    const nodes = [...connections.values()];
    await Promise.all(
      nodes.map(async (node) => {
        for (const { name, rules, password } of users) {
          // The rights of `default` stay as they are.
          const rights = name === DEFAULT_USER ? ["on"] : [...NO_RIGHTS, ...splitRules(rules)];
          await node.call("ACL", "SETUSER", name, ...rights, `>${password}`);
        }
        if (removed.length > 0) await node.call("ACL", "DELUSER", ...removed);
      }),
    );
    // At this point, every node accepts the new password. Redis knows the directive only as `masterauth`.
    await Promise.all(nodes.map((node) => node.config("SET", "masterauth", credentials.password)));
  });
  await withSentinels(deployment, async (sentinel) => {
    for (const { name, password } of usersOfSentinels(credentials))
      await sentinel.call("ACL", "SETUSER", name, "on", `>${password}`);
  });
  await withSentinels(deployment, async (sentinel) => {
    const { password, sentinelPassword = password } = credentials;
    await sentinel.call("SENTINEL", "CONFIG", "SET", "sentinel-pass", sentinelPassword);
    await sentinel.call("SENTINEL", "SET", deployment.name, "auth-pass", password);
    await keep(sentinel);
  });
}

/** Connections stay open. @throws Failure when a command to a node fails */
export async function retireOtherPasswords(deployment: Deployment, credentials: Credentials): Promise<void> {
  // A node that restarted after `addAccess` may lack some of the passwords.
  await addAccess(deployment, credentials, []);
  await withConnections(deployment, async (connections) => {
    await Promise.all(
      [...connections.values()].map(async (node) => {
        for (const { name, password } of everyUser(credentials))
          await node.call("ACL", "SETUSER", name, "resetpass", `>${password}`);
      }),
    );
  });
  await withSentinels(deployment, async (sentinel) => {
    for (const { name, password } of usersOfSentinels(credentials))
      await sentinel.call("ACL", "SETUSER", name, "resetpass", `>${password}`);
    await keep(sentinel);
  });
}

export async function acceptsOtherPasswords(deployment: Deployment, credentials: Credentials): Promise<boolean> {
  const accepted = await acceptedPasswords(deployment);
  const nodesDo = everyUser(credentials).some(({ name, password }) =>
    [...(accepted.get(name) ?? [])].some((hash) => hash !== passwordHash(password)),
  );
  return nodesDo || (await differencesOfSentinels(deployment, credentials)).length > 0;
}

export async function acceptedPasswords(deployment: Deployment): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>();
  await withConnections(deployment, async (connections) => {
    const lists = await Promise.all([...connections.values()].map((node) => node.call("ACL", "LIST")));
    for (const line of lists.flat().map(String)) {
      const [, name = "", ...rest] = line.split(" ");
      const hashes = rest.filter((word) => word.startsWith("#")).map((word) => word.slice(1));
      found.set(name, new Set([...(found.get(name) ?? []), ...hashes]));
    }
  });
  return found;
}

/** Tries the rules on a temporary user who cannot log in, so no user has changed when this throws. */
export async function requireAcceptableRules(deployment: Deployment, { users }: Credentials): Promise<void> {
  const [first] = deployment.nodes;
  if (first === undefined || Object.keys(users).length === 0) return;
  const node = await deployment.connect(first);
  try {
    const refusals: string[] = [];
    for (const [name, { rules }] of Object.entries(users)) {
      const refused = await refusalOf(node, rules);
      if (refused !== undefined) refusals.push(`users.${name}.rules "${rules}": ${refused}`);
    }
    if (refusals.length === 0) return;
    throw new Failure(
      `${deployment.name}: the servers refuse rules of users, so nothing has changed: ${refusals.join("; ")}`,
    );
  } finally {
    node.disconnect();
  }
}

export async function differingAccess(deployment: Deployment, credentials: Credentials): Promise<readonly string[]> {
  return [
    ...(await differencesOfNodes(deployment, credentials)),
    ...(await differencesOfSentinels(deployment, credentials)),
  ];
}

async function differencesOfNodes(deployment: Deployment, credentials: Credentials): Promise<readonly string[]> {
  return withConnections(deployment, async (connections) => {
    const found = await Promise.all(
      [...connections].map(async ([{ name: node }, connection]) => {
        const passwords = await Promise.all(everyUser(credentials).map((user) => passwordProblem(connection, user)));
        const users = Object.keys(credentials.users).length === 0 ? [] : userProblems(connection, rulesOf(credentials));
        return [...compact(passwords), ...(await users)].map((problem) => `${node}: ${problem}`);
      }),
    );
    return found.flat();
  });
}

async function differencesOfSentinels(deployment: Deployment, credentials: Credentials): Promise<readonly string[]> {
  const answers = await withSentinels(deployment, async (sentinel, name) => {
    const problems = await Promise.all(usersOfSentinels(credentials).map((user) => passwordProblem(sentinel, user)));
    return compact(problems).map((problem) => `${name}: ${problem}`);
  });
  return answers.flat();
}

function usersOfSentinels({ password, sentinelPassword }: Credentials): { name: string; password: string }[] {
  const reader = { name: DEFAULT_USER, password };
  return sentinelPassword === undefined ? [reader] : [reader, { name: SENTINEL_ADMIN, password: sentinelPassword }];
}

/** Undefined if the user has only this password, or does not exist. */
async function passwordProblem(
  connection: Connection,
  { name, password }: { readonly name: string; readonly password: string },
): Promise<string | undefined> {
  const reply = await connection.call("ACL", "GETUSER", name);
  if (reply === null) return undefined;
  const index = (reply as unknown[]).indexOf("passwords");
  const hashes = ((reply as unknown[])[index + 1] as string[] | undefined) ?? [];
  if (!hashes.includes(passwordHash(password))) return `the user ${name} has a different password`;
  return hashes.length > 1 ? `the user ${name} has ${hashes.length} passwords` : undefined;
}

/** By itself, a Sentinel writes only some changes to its file; restarted, it would use the old passwords again. */
async function keep(sentinel: Connection): Promise<void> {
  await sentinel.call("SENTINEL", "FLUSHCONFIG");
}

async function withSentinels<T>(
  deployment: Deployment,
  use: (sentinel: Connection, name: string) => Promise<T>,
): Promise<readonly T[]> {
  if (deployment.sentinels === undefined) return [];
  return withConnections(sentinelsAsDeployment(deployment, deployment.sentinels), (connections) =>
    Promise.all([...connections].map(([{ name }, connection]) => use(connection, name))),
  );
}
