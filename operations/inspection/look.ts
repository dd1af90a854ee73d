/** Result of one verification (a look) as plain data. */
import { compact } from "../../lib/compact";
import { formatDuration } from "../../lib/units";
import { separatedNodes } from "../../valkey/verification/cluster-verdict";
import { followingAssertions } from "../../valkey/verification/diagnosis";
import { changedSettings } from "../../valkey/verification/shared-assertions";
import type { Verdict } from "../../valkey/verification/verdict";
import {
  countSlots,
  formatRanges,
  normaliseRanges,
  parseRange,
  SLOT_COUNT,
  subtractRanges,
} from "../../valkey/topology/slots";
import type { OpenSlots } from "../../valkey/resize/open-slots";
import type { Inspection } from "./drift";

export interface AssertionLook {
  readonly id: string;
  readonly holds: boolean;
  readonly found: string;
  readonly nodes: readonly string[];
}

interface PrimaryStream {
  readonly runId: string;
  readonly replicationId: string;
  /** Replication ID of the stream that this one continues; empty if there is none. */
  readonly former: string;
}

export interface Look {
  readonly deployment: string;
  /** Time at which the verification began, ISO 8601. */
  readonly at: string;
  readonly seconds: number;
  readonly pass: boolean;
  /** Time since which `pass` has had its present value, ISO 8601. */
  readonly since: string;
  /** If no node replied, the list contains only `reachable`, with the reason. */
  readonly assertions: readonly AssertionLook[];
  /** IDs of failing assertions that would hold if the silent nodes replied. Undefined if there are none. */
  readonly follows?: readonly string[] | undefined;
  /** Sentences about a deployment that passes, such as an uneven spread of primaries. */
  readonly remarks: readonly string[];
  /**
   * Names of the last known primaries by slots, such as `0-5460`. In replication mode the key is an empty string. A
   * primary stays in the list during an outage, until a verification finds one primary for its slots.
   */
  readonly primaries: Readonly<Record<string, string>>;
  /** Processes and replication streams of these primaries, by name; undefined if no primary replied. */
  readonly streams?: Readonly<Record<string, PrimaryStream>> | undefined;
  /** Slots whose migration was begun but not finished; undefined also if they were not read. */
  readonly openSlots?: OpenSlots | undefined;
  /** Nodes that reply, but that another node does not reach: the network may be cut. Undefined if there are none. */
  readonly separated?: readonly string[] | undefined;
  /** Names of settings that differ from the configuration, and that CONFIG SET can change without a restart. */
  readonly changedSettings?: readonly string[] | undefined;
}

/** @param former the previous look; undefined for the first one */
export function lookOf(
  deployment: string,
  { verification, drift, openSlots }: Inspection,
  { at, seconds, former }: { readonly at: Date; readonly seconds: number; readonly former: Look | undefined },
): Look {
  const time = at.toISOString();
  const verdict = verification?.verdict;
  const pass = verdict?.pass === true;
  const differ = verdict?.assertions.some(({ id, pass: holds }) => id === "same-settings" && !holds) === true;
  const changed = verification === undefined || !differ ? [] : changedSettings(verification.facts);
  const separated = verification === undefined || pass ? [] : separatedNodes(verification.facts.nodes);
  const follows = verification === undefined ? [] : followingOf(verification);
  return {
    deployment,
    at: time,
    seconds,
    pass,
    since: former?.pass === pass ? former.since : time,
    assertions: verdict?.assertions.map(({ id, pass: holds, found, nodes }) => ({ id, holds, found, nodes })) ?? [
      { id: "reachable", holds: false, found: drift.join("; "), nodes: [] },
    ],
    ...(follows.length === 0 ? {} : { follows }),
    remarks: pass ? drift : [],
    ...(openSlots === undefined ? {} : { openSlots }),
    ...(separated.length === 0 ? {} : { separated }),
    ...(changed.length === 0 ? {} : { changedSettings: changed }),
    primaries: lastPrimaries(former?.primaries ?? {}, verdict),
    streams: { ...former?.streams, ...streamsOf(verification) },
  };
}

function followingOf({ facts, verdict }: NonNullable<Inspection["verification"]>): string[] {
  return [...followingAssertions(facts, verdict.assertions)];
}

/** In replication mode, the primary counts as serving all slots. */
const ALL_SLOTS = [{ from: 0, to: SLOT_COUNT - 1 }];

function lastPrimaries(former: Look["primaries"], verdict: Verdict | undefined): Look["primaries"] {
  const isReplication = verdict?.mode === "replication";
  const found = (verdict?.shards ?? []).flatMap(({ slots: own, primary }) => {
    const slots = isReplication ? ALL_SLOTS : own;
    return primary === undefined || slots.length === 0 ? [] : [{ primary, slots }];
  });
  const served = found.flatMap(({ slots }) => slots);
  // An old primary that returns claims its slots for a moment. Of two claims, neither shows who the primary is.
  if (countSlots(served) > countSlots(normaliseRanges(served))) return former;
  const kept = Object.entries(former).filter(([key]) => {
    const slots = key === "" ? ALL_SLOTS : key.split(" ").map(parseRange);
    return countSlots(subtractRanges(slots, served)) === countSlots(slots);
  });
  const now = found.map(({ slots, primary }) => [isReplication ? "" : formatRanges(slots), primary] as const);
  return Object.fromEntries([...kept, ...now]);
}

function streamsOf(verification: Inspection["verification"]): Look["streams"] {
  const primaries = new Set(verification?.verdict.shards.map(({ primary }) => primary));
  const known = (verification?.facts.nodes ?? []).flatMap(({ node, info }) => {
    if (!primaries.has(node.name) || !info.known) return [];
    const [runId, replicationId] = [info.value.get("run_id"), info.value.get("master_replid")];
    if (runId === undefined || replicationId === undefined) return [];
    const parent = info.value.get("master_replid2") ?? "";
    return [[node.name, { runId, replicationId, former: /^0*$/.test(parent) ? "" : parent }]];
  });
  return Object.fromEntries(known) as Look["streams"];
}

/** For the first verification, the lines are the verdict, every failed assertion and every remark. */
export function changesOf(former: Look | undefined, look: Look): string[] {
  const { deployment } = look;
  const said = new Set(former?.remarks);
  const lines = [
    former?.pass === look.pass ? undefined : describeVerdict(former, look),
    ...describeFailures(former, look),
    ...failoversBetween(former, look),
    ...restartsBetween(former, look),
    ...look.remarks.map((remark) => (said.has(remark) ? undefined : remark)),
  ];
  return compact(lines).map((line) => `${deployment}: ${line}`);
}

/** Each verification compares with the one before it, so a loss fails only once. */
const KEPT = "data-kept";

/** Names of nodes and ranges of slots in the text of an assertion, but not its figures, which change all the time. */
const NAMES = /[\w.[\]]*[-:]\d[\w.:-]*/g;

function namesIn({ nodes, found }: AssertionLook): string {
  return [...new Set([...nodes, ...(found.match(NAMES) ?? [])])].sort().join(" ");
}

/**
 * Lines about assertions that begin to fail, that fail for other nodes or slots than before, and that hold again. If a
 * node cannot be reached, many assertions fail for this reason, so one line names all of them.
 */
function describeFailures(former: Look | undefined, { assertions, follows = [] }: Look): (string | undefined)[] {
  const failedBefore = new Map(former?.assertions.flatMap((each) => (each.holds ? [] : [[each.id, namesIn(each)]])));
  const unreachedIn = (all: readonly AssertionLook[] = []): readonly string[] =>
    all.find(({ id, holds }) => id === "reachable" && !holds)?.nodes ?? [];
  const unreached = unreachedIn(assertions);
  const back = unreachedIn(former?.assertions).filter((node) => unreached.length > 0 && !unreached.includes(node));
  const isConsequence = ({ id }: AssertionLook): boolean => follows.includes(id);
  const isNew = (each: AssertionLook): boolean =>
    failedBefore.get(each.id) !== namesIn(each) ||
    (former?.follows?.includes(each.id) === true && !isConsequence(each));
  const fresh = assertions.filter((each) => !each.holds && isNew(each));
  const consequences = fresh.filter(isConsequence).map(({ id }) => id);
  const holding = assertions.filter(({ id, holds }) => holds && failedBefore.has(id)).map(({ id }) => id);
  const isLost = holding.includes(KEPT) && former?.follows?.includes(KEPT) !== true;
  const again = holding.filter((id) => id !== KEPT || !isLost);
  return [
    ...fresh.filter((each) => !isConsequence(each)).map(({ id, found }) => `${id}: ${found}`),
    consequences.length === 0
      ? undefined
      : `these assertions fail because of nodes that cannot be reached: ${consequences.join(", ")}`,
    back.length === 0 ? undefined : `these nodes reply again: ${back.join(", ")}`,
    again.length === 0 ? undefined : `these assertions hold again: ${again.join(", ")}`,
    isLost
      ? `${KEPT}: the keys that vanished are still lost; from now on, verifications compare with the keys of this moment`
      : undefined,
  ];
}

function describeVerdict(former: Look | undefined, { pass, assertions, at }: Look): string {
  const failing = assertions.filter(({ holds }) => !holds).length;
  const verdict = pass
    ? `PASS — all ${assertions.length} assertions hold`
    : `FAIL — ${failing} of ${assertions.length} assertions do not hold`;
  if (former === undefined) return verdict;
  const seconds = Math.round((Date.parse(at) - Date.parse(former.since)) / 1000);
  return `${verdict}, after ${formatDuration(seconds)} of ${former.pass ? "PASS" : "FAIL"}`;
}

type Primaries = Pick<Look, "primaries" | "streams">;

const ofSlots = (slots: string): string => (slots === "" ? "" : ` (slots ${slots})`);

/** A sentence for each failover. A primary that takes over again before the next look shows it by its stream. */
export function failoversBetween(former: Primaries | undefined, { primaries, streams }: Primaries): string[] {
  return Object.entries(primaries).flatMap(([slots, primary]) => {
    const before = former?.primaries[slots] ?? predecessorOf(primary);
    if (before === undefined) return [];
    if (before !== primary) return [`${primary} took over from ${before}${ofSlots(slots)}`];
    const [old, now] = [former?.streams?.[primary], streams?.[primary]];
    if (old === undefined || now?.runId !== old.runId || now.replicationId === old.replicationId || now.former === "")
      return [];
    return [
      `a different node took over from ${primary}${ofSlots(slots)}`,
      `${primary} took over again${ofSlots(slots)}`,
    ];
  });

  /** If slots moved at the same time, the stream shows from whom a primary took over. */
  function predecessorOf(primary: string): string | undefined {
    const [known, now] = [former?.streams ?? {}, streams?.[primary]];
    const isPrimary = new Set(Object.values(primaries));
    if (now === undefined || now.former === "" || known[primary]?.replicationId === now.replicationId) return undefined;
    return Object.keys(known).find((name) => !isPrimary.has(name) && known[name]?.replicationId === now.former);
  }
}

/** A sentence for each primary that ended and is the primary again. */
function restartsBetween(former: Look | undefined, { primaries, streams }: Look): string[] {
  return Object.entries(primaries).flatMap(([slots, primary]) => {
    const [old, now] = [former?.streams?.[primary], streams?.[primary]];
    const isSame = former?.primaries[slots] === primary && old !== undefined && now !== undefined;
    return isSame && old.runId !== now.runId
      ? [`${primary} has started again, and is the primary${ofSlots(slots)}`]
      : [];
  });
}
