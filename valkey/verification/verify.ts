/** Verification of a deployment: facts, then the verdict. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment } from "../deployment";
import { clusterVerdict } from "./cluster-verdict";
import type { DeploymentFacts, OptionalAssertion } from "./facts";
import { gatherFacts } from "./gather";
import { replicationVerdict } from "./replication-verdict";
import type { Verdict } from "./verdict";

export interface Verification {
  readonly facts: DeploymentFacts;
  readonly verdict: Verdict;
}

/** @param without assertions left out on request, named in the verdict */
export async function verify(
  deployment: Deployment,
  without: readonly OptionalAssertion[] = [],
): Promise<Verification> {
  const facts = await gatherFacts(deployment, without);
  return { facts, verdict: judgeFacts(facts) };
}

const SETTLING_POLL_MS = 500;

/** Verifies until it passes, or so many milliseconds are over: for what has only just come up. */
export async function verifyUntilPass(deployment: Deployment, milliseconds: number): Promise<Verification> {
  const deadline = Date.now() + milliseconds;
  for (;;) {
    const verification = await verify(deployment);
    if (verification.verdict.pass || Date.now() > deadline) return verification;
    await sleep(SETTLING_POLL_MS);
  }
}

/** All at once, each beside its deployment. */
export function verifyAll(
  deployments: readonly Deployment[],
): Promise<{ deployment: Deployment; verification: Verification }[]> {
  return Promise.all(deployments.map(async (deployment) => ({ deployment, verification: await verify(deployment) })));
}

/** The verdict that facts lead to. Pure. */
export function judgeFacts(facts: DeploymentFacts): Verdict {
  return facts.mode === "cluster" ? clusterVerdict(facts) : replicationVerdict(facts);
}
