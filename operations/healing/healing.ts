/** Decides after each verification: what can be repaired, how long to wait, how many repairs an hour may have. */
import { formatRanges, normaliseRanges } from "../../valkey/topology/slots";
import { type AssertionId, rowOf } from "../../valkey/verification/assertions";
import { listNames } from "../../valkey/verification/violations";
import { failoversBetween, type AssertionLook, type Look } from "../inspection/look";

/** A repair ends an abandoned migration. During any other, the controller repairs nothing. */
const NO_MOVES: AssertionId = "no-moves";
/**
 * Minutes without work on open slots. In slots where clients create or delete keys (`otherKeys`), numbers of keys do
 * not show whether somebody moves keys.
 */
const ABANDONED_MINUTES = { sameKeys: 5, otherKeys: 30 };

/** Mostly the deployment recovers by itself: a pod that has lost its data joins again within half a minute. */
const STEADY_SECONDS = 20;
/**
 * For nodes that reply but do not reach each other: if the network is cut, a repair cannot help; if they only know
 * outdated addresses, they need one.
 */
const SEPARATED_SECONDS = 120;
/** Minutes after a failover before a repair may hand a primary over for an even spread over the zones. */
const QUIET_MINUTES = 5;
/** After repairs that did not help. The first wait is one minute, and each further one twice as long. */
const LONGEST_WAIT_MINUTES = 16;
/** Highest number of repairs and replaced pods together in one hour. */
export const MAX_REPAIRS_PER_HOUR = 6;
/** The controller restores changed settings only if it may repair settings. */
const SAME_SETTINGS: AssertionId = "same-settings";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export interface RepairHistory {
  /** Times of the repairs of the last hour, milliseconds since 1970. */
  readonly repairs: readonly number[];
  /** Number of repairs in a row after which the next verification still found a problem. */
  readonly inVain: number;
  /** Such a repair may have left disruption budgets that allow the eviction of only one pod at a time. */
  readonly isUnfinished: boolean;
}

export interface HealingMemory extends RepairHistory {
  /** Whether settings that somebody changed by hand are repaired. */
  readonly repairsSettings: boolean;
  readonly problems: string | undefined;
  /** Time of the verification that first found these problems, milliseconds since 1970. */
  readonly since: number;
  readonly primaries: Look["primaries"];
  /** Time of the last failover, milliseconds since 1970; undefined if none was seen. */
  readonly failoverAt: number | undefined;
  /** Checksums that change while somebody works on open slots, and when they last changed. */
  readonly open:
    | { readonly work: string; readonly workAt: number; readonly keys: string; readonly keysAt: number }
    | undefined;
}

export const NO_MEMORY: HealingMemory = {
  repairsSettings: false,
  problems: undefined,
  since: 0,
  primaries: {},
  failoverAt: undefined,
  open: undefined,
  repairs: [],
  inVain: 0,
  isUnfinished: false,
};

export type HealingDecision =
  | { readonly kind: "none" }
  /** Something is to be repaired, but not now. */
  | { readonly kind: "wait"; readonly why: string }
  | {
      readonly kind: "repair";
      /** Names of the assertions that do not hold; if all hold, the remarks about the deployment. */
      readonly what: readonly string[];
      /** Whether a replica may take over from a primary that works. */
      readonly handOver: boolean;
      /** Checksum `work` of open slots whose migration is abandoned; undefined if no slot is open. */
      readonly abandoned?: string | undefined;
      /** Whether the repair restores the configured values of settings. @default false */
      readonly settings?: boolean | undefined;
    };

export function remember(before: HealingMemory, look: Look): HealingMemory {
  const now = Date.parse(look.at);
  const memory = { ...before, open: rememberOpenSlots(before, look) };
  const problems = describeProblems(memory, look);
  return {
    ...memory,
    problems,
    since: problems === memory.problems ? memory.since : now,
    primaries: look.primaries,
    failoverAt: failoversBetween(memory, { primaries: look.primaries }).length > 0 ? now : memory.failoverAt,
    repairs: memory.repairs.filter((at) => now - at < HOUR_MS),
    inVain: problems !== undefined ? memory.inVain : 0,
  };
}

/** If the open slots could not be read, the time without work starts again: somebody may have worked on them. */
function rememberOpenSlots({ open }: HealingMemory, { at, openSlots }: Look): HealingMemory["open"] {
  if (openSlots === undefined) return undefined;
  const { work, keys } = openSlots;
  const now = Date.parse(at);
  return {
    work,
    workAt: open?.work === work ? open.workAt : now,
    keys,
    keysAt: open?.work === work && open.keys === keys ? open.keysAt : now,
  };
}

/** Counts from its beginning, so also if the controller is killed during the repair. */
export function rememberRepair(memory: HealingMemory, now: number): HealingMemory {
  return { ...memory, repairs: [...memory.repairs, now], inVain: memory.inVain + 1, isUnfinished: true };
}

/** The end becomes the time of the repair. A repair that did not succeed stays marked as unfinished. */
export function rememberRepairEnd(memory: HealingMemory, now: number, hasSucceeded: boolean): HealingMemory {
  return { ...memory, since: now, repairs: [...memory.repairs.slice(0, -1), now], isUnfinished: !hasSucceeded };
}

/** @param memory memory that `remember` has updated with `look` */
export function decide(memory: HealingMemory, look: Look): HealingDecision {
  const what = problemsOf(memory, look);
  const wait = (why: string): HealingDecision => ({ kind: "wait", why });
  const moving = whyNotAbandoned(memory, look);
  if (what.length === 0) return moving === undefined ? { kind: "none" } : wait(moving);
  const now = Date.parse(look.at);
  const missing = look.assertions.filter(({ id, holds }) => rowOf(id)?.repair === "needed" && !holds);
  if (missing[0] !== undefined) return wait(`a repair can start only when the assertion ${missing[0].id} holds`);
  if (moving !== undefined) return wait(moving);
  const isSteady = (seconds: number): boolean => now - memory.since >= seconds * 1000;
  if (!isSteady(STEADY_SECONDS)) return wait("the deployment may recover by itself");
  if (look.separated !== undefined && !isSteady(SEPARATED_SECONDS))
    return wait(
      `a node of the deployment cannot reach ${listNames(look.separated)}, but the network may recover by itself`,
    );
  if (memory.repairs.length >= MAX_REPAIRS_PER_HOUR)
    return wait(`the limit of ${MAX_REPAIRS_PER_HOUR} repairs in one hour is reached`);
  const last = memory.repairs.at(-1);
  const pauseMs = Math.min(2 ** (memory.inVain - 1), LONGEST_WAIT_MINUTES) * MINUTE_MS;
  if (last !== undefined && memory.inVain > 0 && now - last < pauseMs)
    return wait(
      `the last repair did not help; the next repair can start ${pauseMs / MINUTE_MS} min after the last one`,
    );
  const handOver = memory.failoverAt === undefined || now - memory.failoverAt >= QUIET_MINUTES * MINUTE_MS;
  if (!handOver && look.remarks.length > 0) return wait(`a failover was less than ${QUIET_MINUTES} min ago`);
  const settings = what.includes(SAME_SETTINGS) ? true : undefined;
  return { kind: "repair", what, handOver, abandoned: memory.open?.work, settings };
}

/** Undefined if no slot is open, or if the migration is abandoned. */
function whyNotAbandoned({ open }: HealingMemory, { at, assertions, openSlots }: Look): string | undefined {
  if (assertions.every(({ id, holds }) => id !== NO_MOVES || holds)) return undefined;
  if (open === undefined || openSlots === undefined)
    return `the assertion ${NO_MOVES} does not hold, and it is unknown which slots are open`;
  if (openSlots.isMigrating) return "an atomic slot migration is in progress";
  const [quiet, steady] = [open.workAt, open.keysAt].map((since) => (Date.parse(at) - since) / MINUTE_MS);
  const { sameKeys, otherKeys } = ABANDONED_MINUTES;
  if ((steady ?? 0) >= sameKeys || (quiet ?? 0) >= otherKeys) return undefined;
  const list = formatRanges(normaliseRanges(openSlots.slots.map((slot) => ({ from: slot, to: slot }))));
  const limit = `${sameKeys} min without progress, or after ${otherKeys} min if clients create or delete keys in these slots`;
  return `the migration of slots ${list} has not ended; a repair ends it after ${limit}`;
}

/** If all assertions hold: the remarks, or a text about the last repair if it did not succeed. */
function problemsOf(memory: HealingMemory, look: Look): readonly string[] {
  const { pass, assertions, remarks } = look;
  const heals = {
    ...{ needed: false, heals: true, "heals-abandoned": whyNotAbandoned(memory, look) === undefined },
    "heals-settings": memory.repairsSettings && (look.changedSettings ?? []).length > 0,
  };
  const isRepairable = ({ id, holds }: AssertionLook): boolean => !holds && heals[rowOf(id)?.repair ?? "needed"];
  if (!pass) return assertions.filter(isRepairable).map(({ id }) => id);
  return remarks.length === 0 && memory.isUnfinished ? ["what an earlier repair left unfinished"] : remarks;
}

function describeProblems(memory: HealingMemory, look: Look): string | undefined {
  const problems = problemsOf(memory, look);
  if (problems.length === 0) return undefined;
  // The text changes when nodes lose or regain the connections to each other, so that the wait begins again.
  return [...problems, ...(look.separated === undefined ? [] : ["separated"])].join("; ");
}
