/** What `pulumi refresh` finds of a deployment: whether it still is what was formed and verified. */
import { messageOf } from "../lib/errors";
import type { DeploymentReference } from "../platforms/deployment-reference";
import { openDeployment } from "../platforms/deployment-reference";
import type { Verification } from "../valkey/verification/verify";
import { verifyUntilPass } from "../valkey/verification/verify";

/** Milliseconds that pods may take to answer, and that a deployment in the middle of a failover may take to settle. */
const ANSWER_MS = 15_000;
const SETTLING_MS = 5_000;

/** The deployment as its nodes tell it now. */
export interface Inspection {
  /** Undefined where the nodes could not be asked. */
  readonly verification: Verification | undefined;
  /** A sentence for each reason why it no longer is what was verified; empty when it is. */
  readonly drift: readonly string[];
}

/** Never throws: a refresh has to show a deployment that is broken or gone. */
export async function inspectDeployment(
  target: DeploymentReference,
  password: string,
  signal: AbortSignal,
): Promise<Inspection> {
  try {
    const deployment = await openDeployment(target, password, { timeoutMs: ANSWER_MS, signal });
    const verification = await verifyUntilPass(deployment, { settlingMs: SETTLING_MS, signal });
    const failed = verification.verdict.assertions.filter(({ pass }) => !pass);
    return { verification, drift: failed.map(({ id, found }) => `${id}: ${found}`) };
  } catch (error) {
    return { verification: undefined, drift: [messageOf(error)] };
  }
}
