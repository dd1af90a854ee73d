/** Repairs a deployment that serves, by the same steps as an update. */
import { Failure } from "../../lib/errors";
import type { WaitOptions } from "../../lib/progress";
import type { DeploymentReference } from "../../platforms/deployment-reference";
import { openDeployment } from "../../platforms/deployment-reference";
import { form } from "../../valkey/formation/form";
import type { RepairLimits } from "../../valkey/membership/deadline";
import { verifyUntilPass } from "../../valkey/verification/verify";
import { LOOK_MS } from "../protocol/opening";
import { loosenBudgets, tightenBudgets } from "./budgets";

/** Time limit for the verdict to pass after a repair, milliseconds. */
const SETTLING_MS = 15_000;

/**
 * Repairs a deployment whose servers all reply. If a repair is stopped or killed at any point, the next repair
 * continues from that point.
 * @returns whether anything had to be changed
 * @throws Failure when the deployment must not be changed, or does not pass verification afterwards
 */
export async function repairDeployment(
  target: DeploymentReference,
  password: string,
  limits: RepairLimits,
  { signal, ...waiting }: WaitOptions,
): Promise<boolean> {
  const deployment = await openDeployment(target, password, { timeoutMs: LOOK_MS, signal });
  await tightenBudgets(target);
  const { changed } = await form(deployment, target.shape, { ...waiting, signal, repair: limits });
  const verification = await verifyUntilPass(deployment, { settlingMs: SETTLING_MS, signal });
  const failed = verification.verdict.assertions.filter(({ pass }) => !pass);
  if (failed.length > 0) throw new Failure(failed.map(({ id, found }) => `${id}: ${found}`).join("; "));
  await loosenBudgets(target, verification);
  return changed;
}
