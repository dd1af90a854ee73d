/**
 * Checks that each shard still has the data that the last verification saw. The check compares the ID and the offset of
 * each shard's replication stream. Pure.
 */
import { compact } from "../../lib/compact";
import { infoNumber } from "../topology/replies";
import type { Assertion, Violation } from "./assertion";
import { assertion } from "./assertion";
import type { DeploymentFacts } from "./facts";
import type { Shard } from "./shards";
import { makeVerdict } from "./verdict";
import type { Verification } from "./verify";

/** The state of a shard's data at the time of a verification. */
export interface ShardData {
  /** Names of the shard's nodes. The primary comes first. */
  readonly nodes: readonly string[];
  /** `master_replid` of the shard's primary. */
  readonly replicationId: string;
  /** Offset in the replication stream that all nodes of the shard had reached, bytes. */
  readonly offset: number;
  /** Number of keys in all databases of the primary. */
  readonly keys: number;
  /** Whether the primary had changes since its last snapshot. */
  readonly unsaved: boolean;
  /** Whether the primary had an append-only file. */
  readonly appendOnly: boolean;
}

/** The state of a deployment's data at the time of a verification. */
export interface SeenData {
  /** Time of the verification, ISO 8601. */
  readonly seenAt: string;
  /**
   * Data of the shards that have replicas. Shards with a single node are omitted, because a single node loses its data
   * at every restart unless the node writes a file.
   */
  readonly shards: readonly ShardData[];
}

/**
 * Data with which the next verification compares the deployment. Some shards are left out: shards without replicas, and
 * shards whose servers do not report the needed values.
 */
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
 * Adds the assertion `data-kept` to a verdict. The assertion fails if a shard's primary has started empty or from an
 * older copy since the last verification.
 *
 * If a loss is not certain, the assertion holds. A loss is not certain in three cases: the nodes of the shard have
 * changed, or the server reads an append-only file, or a different server has taken over since the loss and clients
 * have written as much data as there was before.
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
  const what = "every shard still has the data that the last verification saw, or has newer data";
  return assertion(
    "data-kept",
    what,
    `all ${shards.length} shards, compared with the verification at ${seenAt}`,
    violations,
  );
}

type Info = ReadonlyMap<string, string>;

const infoOf = ({ nodes }: DeploymentFacts, name: string | undefined): Info | undefined => {
  const info = nodes.find(({ node }) => node.name === name)?.info;
  return info?.known === true ? info.value : undefined;
};
const offsetOf = (info: Info | undefined): number | undefined =>
  info === undefined ? undefined : infoNumber(info, "master_repl_offset");

const keepsAppendOnlyFile = (info: Info): boolean => info.get("aof_enabled") === "1";

/**
 * Whether a shard has the same nodes as in the last verification. If a shard has new nodes, these nodes may have the
 * data of removed nodes.
 */
function isSame({ nodes }: ShardData, { primary, replicas }: Shard): boolean {
  const present = compact([primary, ...replicas]);
  return present.length === nodes.length && present.every((name) => nodes.includes(name));
}

/** Value of `master_replid2` in the INFO of a server that has no earlier replication ID. */
const NO_ID = /^0*$/;

/** Whether a server has started within the last `seconds` seconds. Servers report their uptime in whole seconds. */
const hasStartedIn = (info: Info, seconds: number): boolean =>
  (infoNumber(info, "uptime_in_seconds") ?? Infinity) < seconds + 1;

/** The state of a shard now. */
interface Now {
  /** Seconds since the last verification. */
  readonly seconds: number;
  /** Whether all nodes of the shard have restarted since the last verification. */
  readonly allStarted: boolean;
  /** Number of keys of the primary. */
  readonly keys: number;
}

/**
 * The reason why a shard's primary lacks data that the last verification saw. Undefined if the primary has all of this
 * data.
 */
function problemOf(data: ShardData, info: Info, now: Now): string | undefined {
  const [own, former = ""] = [info.get("master_replid"), info.get("master_replid2")];
  if (data.keys === 0 || own === data.replicationId) return undefined;
  const hasStarted = hasStartedIn(info, now.seconds);
  const isEmpty = NO_ID.test(former) && hasStarted && info.get("rdb_last_load_keys_loaded") === "0";
  // A server that reads an append-only file gets a new replication ID.
  const reads = data.appendOnly || keepsAppendOnlyFile(info);
  if (isEmpty && (!reads || now.keys === 0))
    return `it has started without the ${data.keys} keys that the last verification saw, and no other server had them`;
  if (!hasStarted || reads || !data.unsaved) return undefined;
  if (former === data.replicationId) {
    // A server that starts from a snapshot continues from the snapshot's offset, under a new ID.
    const from = (infoNumber(info, "second_repl_offset") ?? Infinity) - 1;
    return from < data.offset
      ? `it has started from an older copy, which ends at byte ${from} of the replication stream; the last verification saw byte ${data.offset}`
      : undefined;
  }
  // A server that takes over continues from the offset of the old primary, even if clients have deleted keys.
  const isShorter = (offsetOf(info) ?? Infinity) < data.offset && now.keys < data.keys;
  return now.allStarted && isShorter
    ? `all servers have started since the last verification, without some of the ${data.keys} keys that it saw`
    : undefined;
}
