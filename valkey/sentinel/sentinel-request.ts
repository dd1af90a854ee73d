/** The Sentinels that a configuration asks for: defaults, and reasons to refuse them. Pure. */
import type { SentinelSettings } from "../sentinel-plan";
import { majority, MIN_SENTINEL_ZONES } from "../sentinel-plan";

/** How a deployment's Sentinels decide on a failover. `{}` has every default. */
export interface SentinelRequest {
  /** The number of Sentinels: odd, from 3 to 9. @default 3 */
  readonly count?: number | undefined;
  /** Number of Sentinels that must miss the primary for a failover. @default a majority */
  readonly quorum?: number | undefined;
  /** Milliseconds without a reply after which a Sentinel misses a node (`down-after-milliseconds`). @default 5000 */
  readonly downAfterMs?: number | undefined;
  /** Milliseconds after which an unfinished failover is tried again (`failover-timeout`). @default 10000 */
  readonly failoverTimeoutMs?: number | undefined;
}

/** Defaults of a request. The default of the quorum is a majority. */
export const SENTINEL_DEFAULTS = { count: 3, downAfterMs: 5000, failoverTimeoutMs: 10_000 } as const;
/** The least and the most of each number in a request. */
export const SENTINEL_LIMITS = {
  count: [3, 9],
  downAfterMs: [100, 600_000],
  failoverTimeoutMs: [1000, 3_600_000],
} as const;

/** `NAME-sentinel`, a hyphen and a revision's hash of ten must fit a label of 63. */
const LONGEST_NAME = 43;

/** Deployment that is to be monitored. */
export interface SentinelSubject {
  readonly name: string;
  readonly replicas: number;
  /** Different zones. */
  readonly zones: number;
}

/** A reason to refuse a request. `field` is absent if the reason is about the whole request. */
export interface SentinelProblem {
  readonly field?: keyof SentinelRequest;
  readonly reason: string;
}

/** The request with its defaults. */
export function sentinelSettings(request: SentinelRequest): SentinelSettings {
  const count = request.count ?? SENTINEL_DEFAULTS.count;
  return {
    count,
    quorum: request.quorum ?? majority(count),
    downAfterMs: request.downAfterMs ?? SENTINEL_DEFAULTS.downAfterMs,
    failoverTimeoutMs: request.failoverTimeoutMs ?? SENTINEL_DEFAULTS.failoverTimeoutMs,
  };
}

/**
 * The request that a choice stands for; undefined for no Sentinels. Without a choice a deployment has Sentinels if its zones and its name
 * carry them: three zones have at least two replicas.
 */
export function requestedSentinels(
  choice: SentinelRequest | boolean | undefined,
  subject: SentinelSubject,
): SentinelRequest | undefined {
  if (choice === false) return undefined;
  if (choice !== undefined) return choice === true ? {} : choice;
  return sentinelProblems({}, subject).length === 0 ? {} : undefined;
}

/** Every problem of a request. After the loss of any zone, a majority of the Sentinels and a replica must be left. */
export function sentinelProblems(request: SentinelRequest, subject: SentinelSubject): SentinelProblem[] {
  const { name, replicas, zones } = subject;
  const { count, quorum, downAfterMs, failoverTimeoutMs } = sentinelSettings(request);
  const problems: SentinelProblem[] = [];
  const refuse = (reason: string, field?: keyof SentinelRequest): void => {
    problems.push({ reason, ...(field !== undefined && { field }) });
  };
  for (const [field, value] of Object.entries({ count, downAfterMs, failoverTimeoutMs })) {
    const key = field as keyof typeof SENTINEL_LIMITS;
    const [least, most] = SENTINEL_LIMITS[key];
    if (!Number.isInteger(value) || value < least || value > most)
      refuse(`${value}; expected a whole number from ${least} to ${most}`, key);
  }
  if (count % 2 === 0) refuse(`${count}; expected an odd number: an even number tolerates no more failures`, "count");
  if (!Number.isInteger(quorum) || quorum < 1 || quorum > count)
    refuse(`${quorum} of ${count} Sentinels; at most ${count}`, "quorum");
  if (name.length > LONGEST_NAME)
    refuse(`the name ${name} has ${name.length} characters; with Sentinels at most ${LONGEST_NAME}`);
  if (replicas === 0) refuse(`${name} has no replica that a failover could promote; at least 1`);
  if (zones < MIN_SENTINEL_ZONES) {
    const some = zones === 1 ? "one zone" : `${zones} zones`;
    refuse(`with ${some} the loss of one can take the majority; at least ${MIN_SENTINEL_ZONES}`);
  }
  return problems;
}

/** `3 Sentinels spread over the zones; failover when 2 of them miss the primary for 5 s` */
export function describeSentinels({ count, quorum, downAfterMs }: SentinelSettings): string {
  const failover = `failover when ${quorum} of them miss the primary for ${downAfterMs / 1000} s`;
  return `${count} Sentinels spread over the zones; ${failover}`;
}
