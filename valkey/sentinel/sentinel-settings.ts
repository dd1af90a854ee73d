/** Sentinels that a configuration requests, with defaults, and reasons to refuse a request. */
import { type Problem, problem } from "../../lib/errors";
import { type SentinelSettings, majority, MIN_SENTINEL_ZONES } from "../sentinel-config";

/** The Sentinels that a configuration requests. `{}` means all defaults. */
export interface SentinelRequest {
  /** The number of Sentinels: odd, from 3 to 9. @default 3 */
  readonly count?: number | undefined;
  /** Number of Sentinels that must consider the primary down before a failover. @default a majority */
  readonly quorum?: number | undefined;
  /**
   * Milliseconds without a reply after which a Sentinel considers a node down (`down-after-milliseconds`).
   * @default 5000
   */
  readonly downAfterMs?: number | undefined;
  /** Milliseconds after which an unfinished failover is started again (`failover-timeout`). @default 10000 */
  readonly failoverTimeoutMs?: number | undefined;
}

/** Defaults of a request. The default of `quorum` is a majority, which depends on `count`. */
export const SENTINEL_DEFAULTS = { count: 3, downAfterMs: 5000, failoverTimeoutMs: 10_000 } as const;
/** The lowest and the highest allowed value of each number in a request. */
export const SENTINEL_LIMITS = {
  count: [3, 9],
  downAfterMs: [100, 600_000],
  failoverTimeoutMs: [1000, 3_600_000],
} as const;

/** A label in Kubernetes has at most 63 characters, with `NAME-sentinel`, a hyphen, and a hash of ten characters. */
const LONGEST_NAME = 43;

interface SentinelSubject {
  readonly name: string;
  readonly replicas: number;
  readonly zones: number;
}

export function sentinelSettings(request: SentinelRequest): SentinelSettings {
  const count = request.count ?? SENTINEL_DEFAULTS.count;
  return {
    count,
    quorum: request.quorum ?? majority(count),
    downAfterMs: request.downAfterMs ?? SENTINEL_DEFAULTS.downAfterMs,
    failoverTimeoutMs: request.failoverTimeoutMs ?? SENTINEL_DEFAULTS.failoverTimeoutMs,
  };
}

/** By default if zones, replicas and the length of its name allow this. */
export function requestedSentinels(
  choice: SentinelRequest | boolean | undefined,
  subject: SentinelSubject,
): SentinelRequest | undefined {
  if (choice === false) return undefined;
  if (choice !== undefined) return choice === true ? {} : choice;
  return sentinelProblems({}, subject).length === 0 ? {} : undefined;
}

/** A majority of the Sentinels and a replica must remain after the loss of any zone. */
export function sentinelProblems(request: SentinelRequest, subject: SentinelSubject): Problem[] {
  const { name, replicas, zones } = subject;
  const { count, quorum, downAfterMs, failoverTimeoutMs } = sentinelSettings(request);
  const problems: Problem[] = [];
  const refuse = (code: string, message: string, path: keyof SentinelRequest | "" = ""): void => {
    problems.push(problem(code, path, message));
  };
  for (const [field, value] of Object.entries({ count, downAfterMs, failoverTimeoutMs })) {
    const key = field as keyof typeof SENTINEL_LIMITS;
    const [least, most] = SENTINEL_LIMITS[key];
    if (!Number.isInteger(value) || value < least || value > most)
      refuse("out-of-range", `${value}; expected a whole number from ${least} to ${most}`, key);
  }
  if (count % 2 === 0)
    refuse(
      "even-count",
      `${count}; expected an odd number: 4 Sentinels, for example, tolerate no more failures than 3`,
      "count",
    );
  if (!Number.isInteger(quorum) || quorum < 1 || quorum > count)
    refuse("wrong-quorum", `${quorum} of ${count} Sentinels; expected at most ${count}`, "quorum");
  if (name.length > LONGEST_NAME)
    refuse(
      "name-too-long",
      `the name ${name} has ${name.length} characters; with Sentinels, expected at most ${LONGEST_NAME}`,
    );
  if (replicas === 0)
    refuse("no-replicas", `${name} has no replica that a failover could promote; expected at least 1`);
  if (zones < MIN_SENTINEL_ZONES) {
    const some = zones === 1 ? "one zone" : `${zones} zones`;
    refuse(
      "too-few-zones",
      `with ${some}, the loss of one zone can be the loss of most Sentinels; expected at least ${MIN_SENTINEL_ZONES} zones`,
    );
  }
  return problems;
}

/** Such as `3 Sentinels spread over the zones; failover when 2 of them get no reply from the primary for 5 s` */
export function describeSentinels({ count, quorum, downAfterMs }: SentinelSettings): string {
  const failover = `failover when ${quorum} of them get no reply from the primary for ${downAfterMs / 1000} s`;
  return `${count} Sentinels spread over the zones; ${failover}`;
}
