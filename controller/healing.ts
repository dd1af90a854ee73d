/** Decides after each look whether the controller repairs the deployment. Pure. */
import type { AssertionId } from "../valkey/verification/assertion";
import { failoversBetween } from "./look";
import type { AssertionLook, Look } from "./look";

/** Assertions that a repair can make hold again. */
const REPAIRABLE: ReadonlySet<string> = new Set<AssertionId>([
  "links-up",
  "primaries",
  "replicas",
  "replica-elsewhere",
  "zones-apart",
  "one-data-set",
  "all-online",
  "even-spread",
  "state-ok",
  "slots-covered",
  "none-failing",
  "views-agree",
  "members",
  "sentinels-watch",
  "sentinels-know",
  "sentinels-quorum",
]);
/**
 * Assertions without which nothing is repaired: every server replies, clients can write everywhere, replicas keep up, and
 * nobody moves slots.
 */
const NEEDED: ReadonlySet<string> = new Set<AssertionId>([
  "reachable",
  "not-loading",
  "one-primary",
  "one-owner",
  "lag-bounded",
  "no-moves",
]);

/**
 * Seconds for which looks must find the same problems before they are repaired. Most of the time the deployment recovers
 * by itself: a pod that has lost its data joins again within half a minute.
 */
const STEADY_SECONDS = 20;
/** Time without a failover after which a replica may take over for an even spread over the zones, minutes. */
const QUIET_MINUTES = 5;
/** Longest wait after repairs that did not help, minutes. The first wait is one minute, and each doubles the last. */
const LONGEST_WAIT_MINUTES = 16;
/** Limit that repairs and replaced pods share. */
export const MAX_REPAIRS_PER_HOUR = 6;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Repairs that the controller remembers. */
export interface RepairHistory {
  /** Times of the repairs of the last hour, milliseconds since 1970. */
  readonly repairs: readonly number[];
  /** Number of repairs in a row after which the next look still found a problem. */
  readonly inVain: number;
  /** Whether the last repair has not succeeded. It may have left the disruption budgets of a cluster tight. */
  readonly isUnfinished: boolean;
}

/** Memory of the controller between two looks. */
export interface HealingMemory extends RepairHistory {
  /** The problems that the last look found; undefined if it found none. */
  readonly problems: string | undefined;
  /** Time of the first of the looks that found these problems, milliseconds since 1970. */
  readonly since: number;
  /** The last known primaries by slots. A look that could not ask every node knows fewer. */
  readonly primaries: Look["primaries"];
  /** Time of the last failover, milliseconds since 1970; undefined if none was seen. */
  readonly failoverAt: number | undefined;
}

export const NO_MEMORY: HealingMemory = {
  problems: undefined,
  since: 0,
  primaries: {},
  failoverAt: undefined,
  repairs: [],
  inVain: 0,
  isUnfinished: false,
};

/** Decision after a look. */
export type HealingDecision =
  /** Nothing is to be repaired. */
  | { readonly kind: "none" }
  /** Something is to be repaired, but not now. */
  | { readonly kind: "wait"; readonly why: string }
  | {
      readonly kind: "repair";
      /** Names of the assertions that do not hold; if all assertions hold, the remarks about the deployment. */
      readonly what: readonly string[];
      /** Whether a replica may take over from a primary that works. */
      readonly handOver: boolean;
    };

/** The memory after a look. */
export function remember(memory: HealingMemory, look: Look): HealingMemory {
  const now = Date.parse(look.at);
  const problems = describeProblems(memory, look);
  const isBroken = problems !== undefined;
  return {
    ...memory,
    problems,
    since: problems === memory.problems ? memory.since : now,
    primaries: { ...memory.primaries, ...look.primaries },
    failoverAt: failoversBetween(memory.primaries, look.primaries) > 0 ? now : memory.failoverAt,
    repairs: memory.repairs.filter((at) => now - at < HOUR_MS),
    inVain: isBroken ? memory.inVain : 0,
  };
}

/** The memory when a repair begins. A controller that is killed in the middle of a repair has counted it. */
export function rememberRepair(memory: HealingMemory, now: number): HealingMemory {
  return { ...memory, repairs: [...memory.repairs, now], inVain: memory.inVain + 1, isUnfinished: true };
}

/** The memory when that repair has ended. */
export function rememberRepairEnd(memory: HealingMemory, now: number, hasSucceeded: boolean): HealingMemory {
  return { ...memory, since: now, repairs: [...memory.repairs.slice(0, -1), now], isUnfinished: !hasSucceeded };
}

/** @param memory memory that includes this look */
export function decide(memory: HealingMemory, look: Look): HealingDecision {
  const what = problemsOf(memory, look);
  if (what.length === 0) return { kind: "none" };
  const now = Date.parse(look.at);
  const wait = (why: string): HealingDecision => ({ kind: "wait", why });
  const missing = look.assertions.filter(({ id, holds }) => NEEDED.has(id) && !holds);
  if (missing[0] !== undefined) return wait(`${missing[0].id} does not hold`);
  if (now - memory.since < STEADY_SECONDS * 1000) return wait("the deployment may recover by itself");
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
  return { kind: "repair", what, handOver };
}

/** Names of assertions that a repair can make hold again. If all assertions hold, what else there is to do. */
function problemsOf({ isUnfinished }: HealingMemory, { pass, assertions, remarks }: Look): readonly string[] {
  if (!pass) return assertions.filter(isRepairable).map(({ id }) => id);
  return remarks.length === 0 && isUnfinished ? ["the end of a repair that did not succeed"] : remarks;
}

function describeProblems(memory: HealingMemory, look: Look): string | undefined {
  const problems = problemsOf(memory, look);
  return problems.length === 0 ? undefined : problems.join("; ");
}

function isRepairable({ id, holds }: AssertionLook): boolean {
  return !holds && REPAIRABLE.has(id);
}
