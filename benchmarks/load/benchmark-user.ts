/**
 * A user made for the run. valkey-benchmark takes a password on its command line only, where every user of
 * the machine can read it; so it gets one that is worth nothing afterwards, of a user that may read and write
 * keys and not administer anything.
 */
import { createHash, randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { Failure, messageOf } from "../../lib/errors";
import { identifyProcess } from "../../lib/process-identity";
import type { SampledNode } from "../measuring/counters";

export interface BenchmarkUser {
  readonly username: string;
  readonly password: string;
}

/** Runs of this machine only: whether another machine's run is still under way cannot be seen from here. */
const PREFIX = `valkey-measured-${shortHash(hostname())}-`;

/** What the named tests and the tool itself (CONFIG GET, CLUSTER SLOTS) need. */
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

/** The same without subcommands, for servers whose ACL knows none (Dragonfly): without CONFIG GET, which the tool can do without. */
const PLAIN_RULES = ["~*", "+@READ", "+@WRITE", "+@CONNECTION", "+PING", "+INFO"];

async function setUser(connection: SampledNode["connection"], username: string, password: string): Promise<void> {
  try {
    await connection.call("ACL", "SETUSER", username, "reset", "on", `>${password}`, ...RULES);
  } catch (error) {
    if (!/unrecognized parameter/i.test(messageOf(error))) throw error;
    await connection.call("ACL", "SETUSER", username, "ON", `>${password}`, ...PLAIN_RULES);
  }
}

/**
 * Makes the user on every node, and removes users that killed runs of this machine left there.
 * @throws Failure when a node does not let users be made
 */
export async function createBenchmarkUser(nodes: readonly SampledNode[]): Promise<BenchmarkUser> {
  const username = `${PREFIX}${ownerOf(process.pid) ?? process.pid}-${randomBytes(3).toString("hex")}`;
  const password = randomBytes(16).toString("hex");
  await Promise.all(
    nodes.map(async ({ name, connection }) => {
      try {
        await removeLeftOvers(connection);
        await setUser(connection, username, password);
      } catch (error) {
        throw new Failure(
          `${name} lets no user be made for valkey-benchmark (${messageOf(error)}), and the deployment's own password must not stand on a command line; ` +
            "the credentials given need the permission ACL SETUSER",
          { cause: error },
        );
      }
    }),
  );
  return { username, password };
}

export async function removeBenchmarkUser(nodes: readonly SampledNode[], user: BenchmarkUser): Promise<void> {
  await Promise.allSettled(nodes.map(({ connection }) => connection.call("ACL", "DELUSER", user.username)));
}

/** Users whose name is that of a process which no longer is. */
async function removeLeftOvers(connection: SampledNode["connection"]): Promise<void> {
  const users = (await connection.call("ACL", "USERS")) as string[];
  const dead = users.filter((user) => {
    if (!user.startsWith(PREFIX)) return false;
    const owner = user.slice(PREFIX.length).split("-").slice(0, 2).join("-");
    return ownerOf(Number.parseInt(owner, 10)) !== owner;
  });
  if (dead.length > 0) await connection.call("ACL", "DELUSER", ...dead);
}

/** `PID-hash of when it started`: another process with the same number has another. */
function ownerOf(pid: number): string | undefined {
  const identity = identifyProcess(pid);
  return identity === undefined ? undefined : `${pid}-${shortHash(identity.started)}`;
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}
