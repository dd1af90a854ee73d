/** What a Sentinel says of the primary it watches. Pure parsing, and asking. */
import type { Connection } from "../connection";
import type { Endpoint } from "../node";
import { messageOf } from "../../lib/errors";
import { parseInfo } from "../topology/info";

export interface SentinelView {
  /** Where it takes the primary to be. */
  readonly primary: Endpoint;
  /** Whether it was held up and acts on nothing for half a minute (TILT): what it says is as old as that. */
  readonly tilted: boolean;
  /** `master`, and `s_down`, `o_down`, `disconnected`, `failover_in_progress` … while something is wrong. */
  readonly flags: readonly string[];
  /** Replicas, each with its flags. */
  readonly replicas: readonly {
    readonly endpoint: Endpoint;
    readonly flags: readonly string[];
    readonly linkUp: boolean;
  }[];
  readonly otherSentinels: readonly { readonly endpoint: Endpoint; readonly flags: readonly string[] }[];
  readonly quorum: number;
  /** SENTINEL CKQUORUM: whether enough Sentinels can be reached, in its words. */
  readonly reachesQuorum: true | string;
}

/** @returns undefined when it watches nothing of that name. @throws Failure when it cannot be asked */
export async function readSentinelView(connection: Connection, name: string): Promise<SentinelView | undefined> {
  let primary: ReadonlyMap<string, string>;
  try {
    primary = parseFlatReply(
      await connection.call("SENTINEL", "PRIMARY", name).catch(() => connection.call("SENTINEL", "MASTER", name)),
    );
  } catch (error) {
    if (/No such (primary|master)/i.test(messageOf(error))) return undefined;
    throw error;
  }
  const [replicas, sentinels, quorum, info] = await Promise.all([
    connection.call("SENTINEL", "REPLICAS", name) as Promise<unknown[]>,
    connection.call("SENTINEL", "SENTINELS", name) as Promise<unknown[]>,
    connection.call("SENTINEL", "CKQUORUM", name).then(
      () => true as const,
      (error: unknown) => messageOf(error),
    ),
    connection.info("sentinel"),
  ]);
  return {
    primary: endpointOf(primary),
    tilted: parseInfo(info).get("sentinel_tilt") === "1",
    flags: flagsOf(primary),
    replicas: replicas
      .map(parseFlatReply)
      .map((each) => ({
        endpoint: endpointOf(each),
        flags: flagsOf(each),
        linkUp: each.get("master-link-status") === "ok",
      })),
    otherSentinels: sentinels.map(parseFlatReply).map((each) => ({ endpoint: endpointOf(each), flags: flagsOf(each) })),
    quorum: Number(primary.get("quorum")),
    reachesQuorum: quorum,
  };
}

/**
 * Flags that say that something is wrong with whom they are of. Another Sentinel's `master_down` does not: it is what that one said last when it was
 * asked, and stays long after a failover (seen with 9.1.2).
 */
export function failureFlags(flags: readonly string[]): string[] {
  return flags.filter((flag) =>
    ["s_down", "o_down", "disconnected", "failover_in_progress", "reconf_sent", "reconf_inprog"].includes(flag),
  );
}

/** SENTINEL's replies are names and values in turn. */
export function parseFlatReply(reply: unknown): Map<string, string> {
  const words = Array.isArray(reply) ? reply.map(String) : [];
  return new Map(
    words.flatMap((word, index): [string, string][] => (index % 2 === 0 ? [[word, words[index + 1] ?? ""]] : [])),
  );
}

function endpointOf(each: ReadonlyMap<string, string>): Endpoint {
  return { host: each.get("ip") ?? "", port: Number(each.get("port") ?? 0) };
}

function flagsOf(each: ReadonlyMap<string, string>): string[] {
  return (each.get("flags") ?? "").split(",").filter((flag) => flag !== "");
}
