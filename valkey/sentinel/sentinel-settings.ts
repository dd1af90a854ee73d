/** Sentinels that a configuration requests, with defaults, and reasons to refuse a request. */
import { type Problem, problem } from "../../lib/errors";
import { type SentinelRequest, SENTINEL_DEFAULTS, SENTINEL_FIELDS } from "../../model/deployment";
import { fieldProblems, pickFields } from "../../model/fields";
import { type SentinelSettings, majority, MIN_SENTINEL_ZONES } from "../sentinel-config";

/** A label in Kubernetes has at most 63 characters, with `NAME-sentinel`, a hyphen, and a hash of ten characters. */
const LONGEST_NAME = 43;

interface SentinelSubject {
  readonly name: string;
  readonly replicas: number;
  readonly zones: number;
}

export function sentinelSettings(request: SentinelRequest): SentinelSettings {
  const { count, quorum, ...times } = { ...SENTINEL_DEFAULTS, ...pickFields(SENTINEL_FIELDS, request) };
  return { count, quorum: quorum ?? majority(count), ...times };
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
  const { count, quorum } = sentinelSettings(request);
  const problems = fieldProblems(SENTINEL_FIELDS, request);
  const refuse = (code: string, message: string, path: keyof SentinelRequest | "" = ""): void => {
    problems.push(problem(code, path, message));
  };
  if (quorum > count) refuse("wrong-quorum", `${quorum} of ${count} Sentinels; expected at most ${count}`, "quorum");
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
