/**
 * Each run creates a user that may only read and write keys, and deletes it: valkey-benchmark takes the password on its
 * command line, which everybody on the machine can read.
 */
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { Failure, messageOf } from "../../lib/errors";
import { OWN_USERS } from "../../valkey/access/users";
import { identifyProcess } from "../../lib/system/process-identity";
import type { Connection } from "../../valkey/connection";

export interface BenchmarkUser {
  readonly username: string;
  readonly password: string;
}

/** With a hash of the host name: a machine finds out only for its own runs whether they have ended. */
const PREFIX = `${OWN_USERS}${shortHash(hostname())}-`;

const RUN_NAME = new RegExp(`^${OWN_USERS}[0-9a-f]{8}-\\d+-`);

/** Commands of the named tests, and of valkey-benchmark itself (CONFIG GET, CLUSTER SLOTS). */
const RULES = [
  "resetkeys",
  "~*",
  "-@all",
  "+@read",
  "+@write",
  "+@connection",
  "+ping",
  "+function|load",
  "+fcall",
  "+config|get",
  "+cluster|slots",
  "+cluster|nodes",
  "+cluster|shards",
  "+info",
];

/** For ACLs without subcommands (Dragonfly). They do not allow CONFIG GET, without which valkey-benchmark works. */
const PLAIN_RULES = ["~*", "+@READ", "+@WRITE", "+@CONNECTION", "+PING", "+INFO"];

async function setUser(connection: Connection, username: string, password: string): Promise<void> {
  try {
    await connection.call("ACL", "SETUSER", username, "reset", "on", `>${password}`, ...RULES);
  } catch (error) {
    if (!/unrecognized parameter/i.test(messageOf(error))) throw error;
    await connection.call("ACL", "SETUSER", username, "ON", `>${password}`, ...PLAIN_RULES);
  }
}

export function newRunName(): string {
  return `${PREFIX}${ownerOf(process.pid) ?? process.pid}-${randomBytes(3).toString("hex")}`;
}

/** Undefined if the name is not the name of a run of this machine. */
export function isRunAlive(name: string): boolean | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  const owner = name.slice(PREFIX.length).split("-").slice(0, 2).join("-");
  return ownerOf(Number.parseInt(owner, 10)) === owner;
}

/**
 * Also deletes users that killed runs on this machine left.
 * @param holders receives the names of all nodes that may have the user, even if creating it fails
 * @throws Failure when a node refuses a command
 */
export async function createBenchmarkUser(
  nodes: readonly { readonly name: string; readonly connection: Connection }[],
  username = newRunName(),
  holders = new Set<string>(),
): Promise<BenchmarkUser> {
  const password = randomBytes(16).toString("hex");
  // All replies are awaited, so that no node gets the user after a removal.
  const outcomes = await Promise.allSettled(
    nodes.map(async ({ name, connection }) => {
      try {
        const abandoned = (await listUsers(connection)).filter((user) => isRunAlive(user) === false);
        if (abandoned.length > 0) await connection.call("ACL", "DELUSER", ...abandoned);
        // A command without a reply can have created the user.
        holders.add(name);
        await setUser(connection, username, password);
      } catch (error) {
        if (isForbidden(messageOf(error))) holders.delete(name);
        throw new Failure(
          `${name} does not allow creating a user for valkey-benchmark (${messageOf(error)}). ` +
            "It needs one, because the deployment's own password must not appear on a command line; " +
            "give credentials that permit ACL USERS, ACL SETUSER and ACL DELUSER",
          { cause: error },
        );
      }
    }),
  );
  const refused = outcomes.find((each) => each.status === "rejected");
  if (refused !== undefined) throw refused.reason;
  return { username, password };
}

/** Whether a server refuses a command to this user, or to all users: then a further attempt is refused as well. */
export function isForbidden(message: string): boolean {
  return /^NOPERM|unknown (sub)?command/i.test(message);
}

/** They may belong to runs that have not ended. Empty if the server does not tell its users. */
export async function usersOfRuns(connection: Connection): Promise<string[]> {
  const users = await listUsers(connection).catch(() => []);
  return users.filter((user) => RUN_NAME.test(user));
}

async function listUsers(connection: Connection): Promise<string[]> {
  return (await connection.call("ACL", "USERS")) as string[];
}

/** The PID with a hash of its start time, because PIDs are reused; undefined if no process has it. */
function ownerOf(pid: number): string | undefined {
  const identity = identifyProcess(pid);
  return identity === undefined ? undefined : `${pid}-${shortHash(identity.started)}`;
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
