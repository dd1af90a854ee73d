/** Whether each shard goes on with the data that the last verification saw, by the identity and the offset of its replication. Pure. */
import { compact } from "../../lib/compact";
import { infoNumber } from "../topology/info";
import type { Assertion, Violation } from "./assertion";
import { assertion } from "./assertion";
import type { DeploymentFacts } from "./facts";
import type { Shard } from "./shards";
import type { Verification } from "./verify";
import { makeVerdict } from "./verdict";

/** Data of a shard. */
export interface ShardData {
  /** Names of its nodes; the primary is the first. */
  readonly nodes: readonly string[];
  /** `master_replid` of its primary. */
  readonly replicationId: string;
  /** Bytes of the replication stream that every node of it had. */
  readonly offset: number;
}

/** Data of a deployment as a verification saw it. */
export interface SeenData {
  /** ISO 8601. */
  readonly seenAt: string;
  readonly shards: readonly ShardData[];
}

/** Data for the next verification to compare with. Shards whose primary reports no replication ID are left out. */
export function seenData({ facts, verdict }: Verification, now = new Date()): SeenData {
  const shards = verdict.shards.flatMap(({ primary, replicas }): ShardData[] => {
    if (primary === undefined) return [];
    const nodes = [primary, ...replicas];
    const replicationId = infoOf(facts, primary)?.get("master_replid");
    const offsets = compact(nodes.map((name) => offsetOf(infoOf(facts, name))));
    return replicationId === undefined ? [] : [{ nodes, replicationId, offset: Math.min(...offsets) }];
  });
  return { seenAt: now.toISOString(), shards };
}

/**
 * Adds the row `data-kept` to a verdict. It holds for a shard that is gone on purpose, for servers that read an append-only file, as their
 * replication begins anew with all data, and for a shard that had never replicated anything.
 */
export function withKeptData({ facts, verdict }: Verification, former: SeenData, now = new Date()): Verification {
  const seconds = (now.getTime() - Date.parse(former.seenAt)) / 1000;
  const violations = former.shards.flatMap((data): Violation[] => {
    const shard = successorOf(data, verdict.shards, facts);
    const info = infoOf(facts, shard?.primary);
    const problem = info === undefined ? undefined : problemOf(data, info, seconds);
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

/** The shard that continues a former one: by its replication, else by most of its nodes. Undefined where it is gone. */
function successorOf(
  { nodes, replicationId }: ShardData,
  shards: readonly Shard[],
  facts: DeploymentFacts,
): Shard | undefined {
  const continuing = shards.find(({ primary }) => {
    const info = infoOf(facts, primary);
    return info?.get("master_replid") === replicationId || info?.get("master_replid2") === replicationId;
  });
  if (continuing !== undefined) return continuing;
  const common = shards.map((shard) => {
    const members = [shard.primary, ...shard.replicas];
    return { shard, count: nodes.filter((name) => members.includes(name)).length };
  });
  const most = Math.max(0, ...common.map(({ count }) => count));
  if (most === 0) return undefined;
  const candidates = common.filter(({ count }) => count === most).map(({ shard }) => shard);
  const [formerPrimary] = nodes;
  return candidates.find(({ primary, replicas }) => [primary, ...replicas].includes(formerPrimary)) ?? candidates[0];
}

/** ID of a server's former replication where it has none. */
const NO_ID = /^0*$/;

/** Why the primary of a shard lacks data that was seen `seconds` ago. */
function problemOf({ replicationId, offset }: ShardData, info: Info, seconds: number): string | undefined {
  const [own, former, ends, uptime] = [
    info.get("master_replid"),
    info.get("master_replid2") ?? "",
    infoNumber(info, "second_repl_offset") ?? 0,
    infoNumber(info, "uptime_in_seconds") ?? Infinity,
  ];
  const now = offsetOf(info) ?? offset;
  if (offset === 0 || info.get("aof_enabled") === "1") return undefined;
  // A server that keeps running takes a new ID too, after an hour without replicas.
  if (own !== replicationId && NO_ID.test(former) && uptime < seconds)
    return "its data began anew after the last verification: no server had what was verified";
  const reached = former === replicationId && own !== replicationId ? ends - 1 : now;
  return reached < offset
    ? `its data is older than what was verified: it goes to byte ${reached} of the replication, and ${offset} were there`
    : undefined;
}
