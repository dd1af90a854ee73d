/** Verifies a deployment: reads the facts from every node, then judges them. */
import type { AssertionId } from "./assertion";
import { poll } from "../../lib/polling";
import type { ReportProgress } from "../../lib/progress";
import type { Deployment } from "../deployment";
import { clusterVerdict } from "./cluster-verdict";
import type { DeploymentFacts, OptionalAssertion } from "./facts";
import { gatherFacts } from "./gather";
import { replicationVerdict } from "./replication-verdict";
import { reachable } from "./shared-assertions";
import type { Verdict } from "./verdict";
import { makeVerdict } from "./verdict";

/** The facts about a deployment, and the verdict on them. */
export interface Verification {
  readonly facts: DeploymentFacts;
  readonly verdict: Verdict;
}

/** Verifies a deployment once. @param skippedAssertions assertions to leave out; the verdict names them */
export async function verify(
  deployment: Deployment,
  skippedAssertions: readonly OptionalAssertion[] = [],
): Promise<Verification> {
  const facts = await gatherFacts(deployment, skippedAssertions);
  return { facts, verdict: judgeFacts(facts) };
}

const POLL_MS = 500;

/** How long a verdict may take to pass. */
export interface SettlingTime {
  /** For every assertion to hold, milliseconds. */
  readonly settlingMs: number;
  /** Time for SELF_RECOVERING_ASSERTIONS to hold if all others do, milliseconds. @default `settlingMs` */
  readonly recoveryMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Is told which assertions are waited for. */
  readonly report?: ReportProgress | undefined;
}

/**
 * Assertions that a deployment comes to hold by itself: replicas link and catch up, data is loaded, views spread. A
 * large data set takes minutes.
 */
export const SELF_RECOVERING_ASSERTIONS: ReadonlySet<AssertionId> = new Set([
  "reachable",
  "not-loading",
  "replicas",
  "one-data-set",
  "all-online",
  "links-up",
  "lag-bounded",
  "state-ok",
  "slots-covered",
  "none-failing",
  "views-agree",
  "clients-led",
  "sentinels-watch",
  "sentinels-know",
  "sentinels-quorum",
]);

/**
 * Verifies until the verdict passes, or can no longer pass in time: for a deployment that has just started or changed. A
 * node that does not answer is asked again.
 */
export async function verifyUntilPass(deployment: Deployment, settling: SettlingTime): Promise<Verification> {
  const { settlingMs, recoveryMs: limitMs = settlingMs, signal, report } = settling;
  const began = performance.now();
  const verifyOnce = async (): Promise<Verification | undefined> => {
    const verification = await verify(deployment);
    const failing = verification.verdict.assertions.filter(({ pass }) => !pass);
    if (failing.length === 0) return verification;
    const canRecover = failing.every(({ id }) => SELF_RECOVERING_ASSERTIONS.has(id));
    if (performance.now() - began >= (canRecover ? Math.max(limitMs, settlingMs) : settlingMs)) return verification;
    report?.(failing.map(({ id, found }) => `${id}: ${found}`).join("; "), true);
    return undefined;
  };
  return (await poll(verifyOnce, { intervalMs: POLL_MS, signal })) ?? verify(deployment);
}

/** The verdict on facts. Where no node can be reached, the reasons are all there is to say. Pure. */
export function judgeFacts(facts: DeploymentFacts): Verdict {
  const isUnreached = facts.nodes.length > 0 && facts.nodes.every(({ info }) => !info.known);
  if (isUnreached) return makeVerdict(facts, [reachable(facts)], []);
  return facts.mode === "cluster" ? clusterVerdict(facts) : replicationVerdict(facts);
}
