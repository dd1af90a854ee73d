import { poll } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import type { Deployment } from "../deployment";
import { type AssertionId, ASSERTION_IDS, judgeAssertion, rowOf } from "./assertions";
import type { DeploymentFacts, OptionalAssertion, SeenData } from "./facts";
import { gatherFacts } from "./gather";
import { seenData } from "./kept-data";
import { sameServers, wrongMode } from "./shared-assertions";
import { shardsOf } from "./shards";
import { type Verdict, makeVerdict } from "./verdict";
import { refusesForGood } from "./write-trial";

/** The facts about a deployment and the verdict on them. */
export interface Verification {
  readonly facts: DeploymentFacts;
  readonly verdict: Verdict;
}

/** Verifies a deployment once. @param skippedAssertions assertions to skip; the verdict names them */
export async function verify(
  deployment: Deployment,
  skippedAssertions: readonly OptionalAssertion[] = [],
): Promise<Verification> {
  const facts = await gatherFacts(deployment, skippedAssertions);
  return { facts, verdict: judgeFacts(facts) };
}

const POLL_MS = 500;

/** Time limits within which a verdict must pass. */
export interface SettlingTime {
  /** Time limit for all assertions to hold, milliseconds. */
  readonly settlingMs: number;
  /**
   * Time limit for assertions that can begin to hold without intervention, milliseconds. It applies while all other
   * assertions hold.
   * @default `settlingMs`
   */
  readonly recoveryMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Assertions that are skipped. @default none */
  readonly skippedAssertions?: readonly OptionalAssertion[] | undefined;
  /** Called with the assertions that do not hold yet. */
  readonly report?: ReportProgress | undefined;
}

/**
 * Verifies a deployment until the verdict passes, or until the verdict can no longer pass within the time limit. Use
 * this function for a deployment that has just started or changed. In each verification, nodes that did not reply are
 * asked again.
 */
export async function verifyUntilPass(deployment: Deployment, settling: SettlingTime): Promise<Verification> {
  const { settlingMs, recoveryMs: limitMs = settlingMs, signal, skippedAssertions, report } = settling;
  const began = performance.now();
  const verifyOnce = async (): Promise<Verification | undefined> => {
    const verification = await verify(deployment, skippedAssertions);
    const failing = verification.verdict.assertions.filter(({ pass }) => !pass);
    if (failing.length === 0) return verification;
    const canRecover = failing.every(({ id }) => rowOf(id)?.recovers) && !refusesForGood(verification.facts);
    if (performance.now() - began >= (canRecover ? Math.max(limitMs, settlingMs) : settlingMs)) return verification;
    report?.(failing.map(({ id, found }) => `${id}: ${found}`).join("; "), true);
    return undefined;
  };
  return (await poll(verifyOnce, { intervalMs: POLL_MS, signal })) ?? verify(deployment, skippedAssertions);
}

/**
 * Judges the facts about a deployment. If no node can be reached, or if two nodes are one server, the verdict contains
 * only the assertion `reachable`, with the reasons. If servers run in a different mode, it contains this assertion and
 * `mode`, which other verdicts do not contain. Pure.
 */
export function judgeFacts(facts: DeploymentFacts): Verdict {
  const only = onlyAssertions(facts);
  const shards = only === undefined ? shardsOf(facts) : [];
  const ids = only ?? ASSERTION_IDS;
  return makeVerdict(
    facts,
    ids.flatMap((id) => judgeAssertion(id, { ...facts, shards })),
    shards,
  );
}

/** Undefined if the facts allow to judge all assertions. */
function onlyAssertions(facts: DeploymentFacts): readonly AssertionId[] | undefined {
  const isUnreached = facts.nodes.length > 0 && facts.nodes.every(({ info }) => !info.known);
  if (isUnreached || sameServers(facts.nodes).length > 0) return ["reachable"];
  return wrongMode(facts) === undefined ? undefined : ["reachable", "mode"];
}

interface ComparedVerification {
  readonly verification: Verification;
  /** Undefined if neither this verification nor an earlier one has passed. */
  readonly data: SeenData | undefined;
}

/** A verification that passes leaves a new mark, so a loss is reported once. */
export function compareData(settled: Verification, former: SeenData | undefined): ComparedVerification {
  return {
    verification: former === undefined ? settled : withKeptData(settled, former),
    data: settled.verdict.pass ? seenData(settled) : former,
  };
}

export function withKeptData({ facts, verdict }: Verification, former: SeenData): Verification {
  const { shards } = verdict;
  const assertions = [...verdict.assertions, ...judgeAssertion("data-kept", { ...facts, shards, former })];
  return { facts, verdict: makeVerdict(facts, assertions, shards) };
}
