/** Verifies a deployment: reads the facts from every node, then judges them. */
import { poll } from "../../lib/polling";
import type { Deployment } from "../deployment";
import { clusterVerdict } from "./cluster-verdict";
import type { DeploymentFacts, OptionalAssertion } from "./facts";
import { gatherFacts } from "./gather";
import { replicationVerdict } from "./replication-verdict";
import type { Verdict } from "./verdict";

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

/** Verifies until the verdict passes, at most for so many milliseconds: for a deployment that has just started. */
export async function verifyUntilPass(deployment: Deployment, milliseconds: number): Promise<Verification> {
  const deadline = performance.now() + milliseconds;
  const verifyOnce = async (): Promise<Verification | undefined> => {
    const verification = await verify(deployment);
    return verification.verdict.pass || performance.now() >= deadline ? verification : undefined;
  };
  return (await poll(verifyOnce, { intervalMs: POLL_MS })) ?? verify(deployment);
}

/** Verifies several deployments in parallel, in their order. */
export function verifyAll(
  deployments: readonly Deployment[],
): Promise<{ deployment: Deployment; verification: Verification }[]> {
  return Promise.all(deployments.map(async (deployment) => ({ deployment, verification: await verify(deployment) })));
}

/** The verdict on facts. Pure. */
export function judgeFacts(facts: DeploymentFacts): Verdict {
  return facts.mode === "cluster" ? clusterVerdict(facts) : replicationVerdict(facts);
}
