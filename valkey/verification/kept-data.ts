/** Whether each shard goes on with the data that the last verification saw, by the identity and the offset of its replication. Pure. */
import { compact } from "../../lib/compact";
import { infoNumber } from "../topology/info";
import type { Assertion, Violation } from "./assertion";
import { assertion } from "./assertion";
import type { DeploymentFacts } from "./facts";
import type { Shard } from "./shards";
import { makeVerdict } from "./verdict";
import type { Verification } from "./verify";

/** Data of a shard. */
export interface ShardData {
  /** Names of its nodes; the primary is the first. */
  readonly nodes: readonly string[];
  /** `master_replid` of its primary. */
  readonly replicationId: string;
  /** Bytes of the replication stream that every node of it had. */
  readonly offset: number;
  /** Keys in all databases of its primary. */
  readonly keys: number;
  /** Whether its primary had keys that no snapshot had yet. */
  readonly unsaved: boolean;
  /** Whether its primary kept an append-only file. */
  readonly appendOnly: boolean;
}

/** Data of a deployment as a verification saw it. */
export interface SeenData {
  /** ISO 8601. */
  readonly seenAt: string;
  /** Shards with replicas. The only node of a shard loses its data whenever it restarts without a file. */
  readonly shards: readonly ShardData[];
}

/** Data for the next verification to compare with. Shards without replicas are left out, and servers that do not report these figures. */
export function seenData({ facts, verdict }: Verification, now = new Date()): SeenData {
  const shards = verdict.shards.flatMap(({ primary, replicas }): ShardData[] => {
    const nodes = compact([primary, ...replicas]);
    const info = infoOf(facts, primary);
    const keys = facts.nodes.find(({ node }) => node.name === primary)?.keys;
    const offsets = compact(nodes.map((name) => offsetOf(infoOf(facts, name))));
    const replicationId = info?.get("master_replid");
    if (info === undefined || replicationId === undefined || keys?.known !== true) return [];
    if (replicas.length === 0 || offsets.length < nodes.length || !info.has("rdb_last_load_keys_loaded")) return [];
    return [
      {
        ...{ nodes, replicationId, offset: Math.min(...offsets), keys: keys.value },
        unsaved: info.get("rdb_changes_since_last_save") !== "0",
        appendOnly: keepsAppendOnlyFile(info),
      },
    ];
  });
  return { seenAt: now.toISOString(), shards };
}

/**
 * Adds the row `data-kept` to a verdict. It fails where a shard's primary has started from nothing or from an older copy since then. It
 * holds wherever that is not certain: for a shard whose nodes are not the same ones, for servers that read an append-only file, and where
 * another server has taken over since the loss and clients have written as much as was there before.
 */
export function withKeptData({ facts, verdict }: Verification, former: SeenData, now = new Date()): Verification {
  const seconds = (now.getTime() - Date.parse(former.seenAt)) / 1000;
  const violations = former.shards.flatMap((data): Violation[] => {
    const shard = verdict.shards.find((each) => isSame(data, each));
    const keys = facts.nodes.find(({ node }) => node.name === shard?.primary)?.keys;
    const info = infoOf(facts, shard?.primary);
    if (info === undefined || keys?.known !== true) return [];
    const all = compact(data.nodes.map((name) => infoOf(facts, name)));
    const allStarted = all.length === data.nodes.length && all.every((each) => hasStartedIn(each, seconds));
    const problem = problemOf(data, info, { seconds, allStarted, keys: keys.value });
    return problem === undefined ? [] : [{ node: shard?.primary ?? "", problem }];
  });
  const assertions = [...verdict.assertions, keptData(former, violations)];
  return { facts, verdict: { ...verdict, ...makeVerdict(facts, assertions, verdict.shards) } };
}

function keptData({ seenAt, shards }: SeenData, violations: readonly Violation[]): Assertion {
  const what = "every shard has the data that the last verification saw, or what became of it";
  return assertion("data-kept", what, `${shards.length} of ${shards.length} shards since ${seenAt}`, violations);
}

type Info = ReadonlyMap<string, string>;

const infoOf = ({ nodes }: DeploymentFacts, name: string | undefined): Info | undefined => {
  const info = nodes.find(({ node }) => node.name === name)?.info;
  return info?.known === true ? info.value : undefined;
};
const offsetOf = (info: Info | undefined): number | undefined =>
  info === undefined ? undefined : infoNumber(info, "master_repl_offset");

const keepsAppendOnlyFile = (info: Info): boolean => info.get("aof_enabled") === "1";

/** Whether a shard has the same nodes as before. Others may have the data of those that left. */
function isSame({ nodes }: ShardData, { primary, replicas }: Shard): boolean {
  const present = compact([primary, ...replicas]);
  return present.length === nodes.length && present.every((name) => nodes.includes(name));
}

/** ID of a server's former replication where it has none. */
const NO_ID = /^0*$/;

/** Whether a server has started in the last `seconds`; it counts in whole ones. */
const hasStartedIn = (info: Info, seconds: number): boolean =>
  (infoNumber(info, "uptime_in_seconds") ?? Infinity) < seconds + 1;

/** A shard now. */
interface Now {
  /** Since the data was seen. */
  readonly seconds: number;
  /** Whether all of its nodes have started since then. */
  readonly allStarted: boolean;
  /** Keys of its primary. */
  readonly keys: number;
}

/** Why the primary of a shard lacks data that was seen. */
function problemOf(data: ShardData, info: Info, now: Now): string | undefined {
  const [own, former = ""] = [info.get("master_replid"), info.get("master_replid2")];
  if (data.keys === 0 || own === data.replicationId) return undefined;
  const hasStarted = hasStartedIn(info, now.seconds);
  const isEmpty = NO_ID.test(former) && hasStarted && info.get("rdb_last_load_keys_loaded") === "0";
  // An append-only file is read under a new ID.
  const reads = data.appendOnly || keepsAppendOnlyFile(info);
  if (isEmpty && (!reads || now.keys === 0))
    return `it has started without the ${data.keys} keys that were verified, and no other server had them`;
  if (!hasStarted || reads || !data.unsaved) return undefined;
  if (former === data.replicationId) {
    // A server that starts from a snapshot goes on from there under a new ID.
    const from = (infoNumber(info, "second_repl_offset") ?? Infinity) - 1;
    return from < data.offset
      ? `it has started from an older copy: from byte ${from} of the replication, and ${data.offset} were verified`
      : undefined;
  }
  // Whoever takes over goes on with the offset of the former primary, also after clients have deleted keys.
  const isShorter = (offsetOf(info) ?? Infinity) < data.offset && now.keys < data.keys;
  return now.allStarted && isShorter
    ? `all servers have started since then, without some of the ${data.keys} keys that were verified`
    : undefined;
}
