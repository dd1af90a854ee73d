/**
 * Checks that no data has vanished since the last verification, which left a mark: positions in replication streams,
 * key counts, counters. A loss that only the counters could explain, and that they do not explain, is never PASS.
 */
import { compact } from "../../lib/compact";
import { counted } from "../../lib/units";
import { formatRanges } from "../topology/slots";
import { infoFields, infoNumber } from "../topology/replies";
import type { Counters, DeploymentFacts, SeenData, ShardData } from "./facts";
import type { JudgedFacts, Shard } from "./shards";
import type { Judgement, Violation } from "./violations";

interface SettledVerification {
  readonly facts: DeploymentFacts;
  readonly verdict: { readonly shards: readonly Shard[] };
}

export function seenData({ facts, verdict }: SettledVerification, now = new Date()): SeenData {
  const shards = verdict.shards.flatMap((shard): ShardData[] => {
    const present = nodesOf(facts, shard);
    const [primary] = present;
    const id = primary?.info.get("master_replid");
    const offsets = compact(present.map(({ info }) => infoNumber(info, "master_repl_offset")));
    if (primary?.keys === undefined || id === undefined || offsets.length <= shard.replicas.length) return [];
    const { info, keys } = primary;
    return [
      {
        slots: formatRanges(shard.slots),
        ...{ replicationId: id, offset: Math.min(...offsets), keys },
        unsaved: info.get("rdb_changes_since_last_save") !== "0",
        appendOnly: keepsAppendOnlyFile(info),
        counters: Object.fromEntries(present.map((node) => [node.name, countersOf(node.info)])),
      },
    ];
  });
  return { seenAt: now.toISOString(), shards };
}

export function keptData({ former, shards, ...facts }: JudgedFacts): Judgement | undefined {
  if (former === undefined) return undefined;
  const bySlots = new Map(shards.map((shard) => [formatRanges(shard.slots), shard]));
  const isSame = former.shards.every(({ slots }) => bySlots.has(slots));
  // If slots have moved between shards, only the numbers of all keys can be compared.
  const groups = isSame
    ? former.shards.map((data) => ({ then: [data], now: compact([bySlots.get(data.slots)]) }))
    : [{ then: former.shards, now: shards }];
  const violations = groups.flatMap(({ then, now }): Violation[] => {
    const present = now.map((shard) => nodesOf(facts, shard));
    const problem = problemOf(then, present);
    const [only] = now;
    return problem === undefined ? [] : [{ node: now.length === 1 ? (only?.primary ?? "") : "", problem }];
  });
  const count = counted(former.shards.length, "shard");
  return { violations, expected: `${count}, compared with the verification at ${former.seenAt}` };
}

type Info = ReadonlyMap<string, string>;

interface PresentNode {
  readonly name: string;
  readonly info: Info;
  readonly keys: number | undefined;
}

/** The primary comes first; the list is empty without a primary. */
function nodesOf({ nodes }: DeploymentFacts, { primary, replicas }: Shard): PresentNode[] {
  const present = compact([primary, ...replicas]).flatMap((name): PresentNode[] => {
    const found = nodes.find(({ node }) => node.name === name);
    if (found?.info.known !== true) return [];
    return [{ name, info: found.info.value, keys: found.keys.known ? found.keys.value : undefined }];
  });
  return present[0]?.name === primary ? present : [];
}

const keepsAppendOnlyFile = (info: Info): boolean => info.get("aof_enabled") === "1";

/** Commands of modules (with a dot) count as such. BITOP is absent, by which a verification removes its key. */
const REMOVING: ReadonlySet<string> = new Set([
  ..."del unlink getdel delifeq flushall flushdb rename restore migrate cluster|flushslot".split(" "),
  ..."expire pexpire expireat pexpireat hexpire hpexpire hexpireat hpexpireat hsetex".split(" "),
  ..."lpop rpop lmpop blpop brpop blmpop lmove blmove rpoplpush brpoplpush lrem ltrim".split(" "),
  ..."spop srem smove sdiffstore sinterstore sunionstore hdel hgetdel sort".split(" "),
  ..."zrem zpopmin zpopmax zmpop bzpopmin bzpopmax bzmpop zremrangebyrank zremrangebyscore zremrangebylex".split(" "),
  ..."zdiffstore zinterstore zunionstore zrangestore geosearchstore georadius georadiusbymember".split(" "),
]);

const PREFIX = "cmdstat_";
const EXPIRED = ["expired_keys", "expired_fields", "evicted_keys", "rdb_last_load_keys_expired"];

function countersOf(info: Info): Counters {
  const calls = [...info].flatMap(([key, value]) => {
    const name = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : "";
    return REMOVING.has(name) || name.includes(".") ? [infoNumber(infoFields(value), "calls") ?? 0] : [];
  });
  return {
    runId: info.get("run_id") ?? "",
    removed: sum(EXPIRED.map((name) => infoNumber(info, name) ?? 0)),
    calls: sum(calls),
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Value of `master_replid2` in the INFO of a server that has no earlier replication ID. */
const NO_ID = /^0*$/;

/** A problem that only says that a silent node has not told what it has. */
export const KEYS_UNKNOWN = "its number of keys is unknown";

/** Undefined if nothing has vanished. @param then shards of the mark @param now shards that have the same slots now */
function problemOf(then: readonly ShardData[], now: readonly PresentNode[][]): string | undefined {
  const primaries = compact(now.map(([primary]) => primary));
  const keys = compact(primaries.map((primary) => primary.keys));
  if (keys.length < now.length || now.length === 0) return KEYS_UNKNOWN;
  const [[data, ...otherData], [primary, ...others]] = [then, primaries];
  const pair = data && primary && otherData.length + others.length === 0 ? { data, primary } : undefined;
  const olderCopy = pair && describeOlderCopy(pair.data, pair.primary);
  if (olderCopy !== undefined) return olderCopy;
  const before = sum(then.map((each) => each.keys));
  const lost = before - sum(keys);
  if (lost <= 0) return undefined;
  const counters = Object.fromEntries(then.flatMap((each) => Object.entries(each.counters)));
  const gone = `${lost} of the ${before} keys that the last verification saw are gone`;
  const isSameRun = pair !== undefined && runsSince(counters, pair.primary);
  const isSameStream = isSameRun && pair.primary.info.get("master_replid") === pair.data.replicationId;
  if (!isSameStream && pair !== undefined && continues(pair.data, pair.primary.info)) return undefined;
  // A server that has started from its own disk, or with a shorter stream, cannot tell what was missing at its start.
  const isNew = (node: PresentNode): boolean =>
    !runsSince(counters, node) && (NO_ID.test(formerId(node.info)) || offsetOf(node.info) < (pair?.data.offset ?? 0));
  const fresh = primaries.filter(isNew);
  const counting = isSameStream ? primaries : fresh.length > 0 ? fresh : now.flat();
  const since = counting.map(({ name, info }) => countedSince(counters[name], countersOf(info)));
  const [removed, calls] = [sum(since.map((each) => each.removed)), sum(since.map((each) => each.calls))];
  const isExplained = lost <= removed + (fresh.length === 0 && calls > 0 ? Infinity : calls);
  if (isExplained) return undefined;
  return isSameStream
    ? `${gone}, although the server has counted ${removed} expired or evicted keys and no deletion since then`
    : `${gone}, and it cannot be said why: what the servers have counted since their start does not explain it`;
}

const formerId = (info: Info): string => info.get("master_replid2") ?? "";

/** Whether a server process has run since the mark. */
const runsSince = (counters: Readonly<Record<string, Counters>>, { name, info }: PresentNode): boolean =>
  counters[name] !== undefined && counters[name].runId === info.get("run_id");

/** The counts of a server since the mark, or since its start or the last reset of its counters if this is later. */
function countedSince(then: Counters | undefined, now: Counters): Counters {
  const isReset = then?.runId !== now.runId || now.removed < then.removed || now.calls < then.calls;
  return isReset ? now : { ...now, removed: now.removed - then.removed, calls: now.calls - then.calls };
}

/** So every removal was a command in the stream. A server that took over knows the ID of its stream. */
function continues({ replicationId, offset }: ShardData, info: Info): boolean {
  if (formerId(info) === replicationId) return endOfCopy(info) >= offset;
  return info.get("master_replid") === replicationId && offsetOf(info) >= offset;
}

const offsetOf = (info: Info): number => infoNumber(info, "master_repl_offset") ?? -1;

/** A server that starts from a snapshot, or takes over, continues from this offset under a new ID. */
const endOfCopy = (info: Info): number => (infoNumber(info, "second_repl_offset") ?? Infinity) - 1;

/** Undefined if this is not certain. */
function describeOlderCopy(data: ShardData, primary: PresentNode): string | undefined {
  const { info, keys } = primary;
  if (data.keys === 0 || info.get("master_replid") === data.replicationId || runsSince(data.counters, primary))
    return undefined;
  // A server that reads an append-only file gets a new replication ID.
  const reads = data.appendOnly || keepsAppendOnlyFile(info);
  const isEmpty = NO_ID.test(formerId(info)) && info.get("rdb_last_load_keys_loaded") === "0";
  if (isEmpty && (!reads || keys === 0))
    return `it has started without the ${data.keys} keys that the last verification saw, and no other server had them`;
  const isOlder = formerId(info) === data.replicationId && endOfCopy(info) < data.offset;
  return isOlder && !reads && data.unsaved
    ? `it has started from an older copy, which ends at byte ${endOfCopy(info)} of the replication stream; the last verification saw byte ${data.offset}`
    : undefined;
}
