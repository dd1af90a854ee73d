/** A repair takes the steps of an update. `resize-plan.ts` and `resize-cluster.ts` decide what it may change. */
import { Failure } from "../../lib/errors";
import type { WaitOptions } from "../../lib/progress";
import { type DeploymentReference, openDeployment } from "../../platforms/deployment-reference";
import { applySettings, differingSettings } from "../../valkey/apply-settings";
import type { Deployment } from "../../valkey/deployment";
import { form } from "../../valkey/formation/form";
import type { RepairLimits } from "../../valkey/membership/deadline";
import { splitDirectives } from "../../valkey/settings/dynamic-settings";
import { verifyUntilPass } from "../../valkey/verification/verify";
import { LOOK_MS } from "../protocol/opening";
import { loosenBudgets, tightenBudgets } from "./budgets";
import { hasMemory } from "./maxmemory-raise";

const SETTLING_MS = 15_000;

export interface RepairOrder extends RepairLimits {
  /** Whether the repair restores the configured values of settings that somebody changed by hand. @default false */
  readonly settings?: boolean | undefined;
  /**
   * Memory limit that each pod must have before maxmemory is raised, as a Kubernetes quantity.
   * @default pods need no limit
   */
  readonly memoryLimit?: string | undefined;
}

/**
 * All servers must reply. An interrupted repair is continued by the next.
 * @returns whether anything had to be changed
 * @throws Failure when it must not be changed, or does not pass verification afterwards
 */
export async function repairDeployment(
  target: DeploymentReference,
  password: string,
  { settings = false, memoryLimit, ...limits }: RepairOrder,
  { signal, ...waiting }: WaitOptions,
): Promise<boolean> {
  const deployment = await openDeployment(target, password, { timeoutMs: LOOK_MS, signal });
  await tightenBudgets(target);
  const { changed } = await form(deployment, target.shape, { ...waiting, signal, repair: limits });
  const drift = settings ? await setSettingsAgain(deployment, memoryLimit, { ...waiting, signal }) : [];
  const verification = await verifyUntilPass(deployment, { settlingMs: SETTLING_MS, signal });
  const failed = verification.verdict.assertions.filter(({ pass }) => !pass);
  if (failed.length > 0) throw new Failure(failed.map(({ id, found }) => `${id}: ${found}`).join("; "));
  await loosenBudgets(target, verification);
  return changed || drift.length > 0;
}

/** Those that servers accept without a restart, as after a refresh. @returns the differences that it found */
async function setSettingsAgain(
  deployment: Deployment,
  memoryLimit: string | undefined,
  { signal, timeoutMs, report }: WaitOptions,
): Promise<readonly string[]> {
  const { live } = splitDirectives(deployment.directives);
  const drift = await differingSettings(deployment, live);
  if (drift.length === 0) return [];
  report(`restoring the configured settings: ${drift.join("; ")}`);
  await applySettings(deployment, live, { signal, timeoutMs }, hasMemory(deployment, memoryLimit));
  return drift;
}
