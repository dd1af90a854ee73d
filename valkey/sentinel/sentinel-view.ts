import { messageOf } from "../../lib/errors";
import type { Connection } from "../connection";
import type { Endpoint } from "../node";
import { parseFlatReply, parseInfo } from "../topology/replies";

/** A Sentinel's view of a deployment. */
export interface SentinelView {
  /** The address that the Sentinel reports for the primary. */
  readonly primary: Endpoint;
  /**
   * Whether the Sentinel is in TILT mode. A Sentinel enters this mode for 30 s after a delay of its own process. In
   * this mode, the Sentinel starts no failover, and its report can be 30 s old.
   */
  readonly tilted: boolean;
  /**
   * Flags of the primary. `master` is always present. If something is wrong, there are also `s_down`, `o_down`,
   * `disconnected`, `failover_in_progress` or others.
   */
  readonly flags: readonly string[];
  readonly replicas: readonly {
    readonly endpoint: Endpoint;
    readonly flags: readonly string[];
    /** Whether the replica's link to the primary is up. */
    readonly linkUp: boolean;
  }[];
  readonly otherSentinels: readonly {
    readonly endpoint: Endpoint;
    readonly flags: readonly string[];
    /** Undefined while the Sentinel has not heard from the other one. */
    readonly id?: string | undefined;
  }[];
  readonly quorum: number;
  /** The reply to SENTINEL CKQUORUM: true if enough Sentinels can be reached, and the error message if not. */
  readonly reachesQuorum: true | string;
}

/** @returns undefined when it monitors no primary under the deployment's name. @throws Error when it does not reply */
export async function readSentinelView(connection: Connection, name: string): Promise<SentinelView | undefined> {
  let primary: ReadonlyMap<string, string>;
  try {
    primary = parseFlatReply(await askPrimary(connection, name));
  } catch (error) {
    if (/No such (primary|master)/i.test(messageOf(error))) return undefined;
    throw error;
  }
  const [replicas, sentinels, quorum, info] = await Promise.all([
    connection.call("SENTINEL", "REPLICAS", name) as Promise<unknown[]>,
    connection.call("SENTINEL", "SENTINELS", name) as Promise<unknown[]>,
    askQuorum(connection, name),
    connection.info("sentinel"),
  ]);
  return {
    primary: endpointOf(primary),
    tilted: parseInfo(info).get("sentinel_tilt") === "1",
    flags: flagsOf(primary),
    replicas: replicas.map(parseFlatReply).map((each) => ({
      endpoint: endpointOf(each),
      flags: flagsOf(each),
      linkUp: each.get("master-link-status") === "ok",
    })),
    otherSentinels: sentinels
      .map(parseFlatReply)
      .map((each) => ({ endpoint: endpointOf(each), flags: flagsOf(each), id: each.get("runid") })),
    quorum: Number(primary.get("quorum")),
    reachesQuorum: quorum,
  };
}

/** Servers that lack this command get SENTINEL MASTER. */
async function askPrimary(connection: Connection, name: string): Promise<unknown> {
  try {
    return await connection.call("SENTINEL", "PRIMARY", name);
  } catch {
    return connection.call("SENTINEL", "MASTER", name);
  }
}

async function askQuorum(connection: Connection, name: string): Promise<true | string> {
  try {
    await connection.call("SENTINEL", "CKQUORUM", name);
    return true;
  } catch (error) {
    return messageOf(error);
  }
}

/** Not `master_down`: an answer that stays long after a failover (seen with Valkey 9.1.2). */
const FAILURE_FLAGS = new Set([
  "s_down",
  "o_down",
  "disconnected",
  "failover_in_progress",
  "reconf_sent",
  "reconf_inprog",
]);

export function failureFlags(flags: readonly string[]): string[] {
  return flags.filter((flag) => FAILURE_FLAGS.has(flag));
}

function endpointOf(fields: ReadonlyMap<string, string>): Endpoint {
  return { host: fields.get("ip") ?? "", port: Number(fields.get("port") ?? 0) };
}

function flagsOf(fields: ReadonlyMap<string, string>): string[] {
  return (fields.get("flags") ?? "").split(",").filter((flag) => flag !== "");
}
