import { BadInput, Failure } from "../../lib/errors";
import { type Verification, verify } from "../../valkey/verification/verify";
import { attemptAll } from "../injectors/fault-injector";
import type { FaultPlan, DeploymentOutline } from "../plan/fault-plan";
import { planFault } from "../plan/fault";
import { resetDirectives, setDirectives } from "../actions/directives";
import type { ScenarioRun, FaultSubject } from "./scenario-run";
import { holdsInTime } from "../../lib/polling";

/** Time is needed because a shorter node timeout breaks links briefly. */
const SETTLE_MS = 5000;
const VERIFY_EVERY_MS = 250;

export interface PreparedScenario {
  readonly plan: FaultPlan;
  readonly before: Verification;
}

/**
 * @param configured the deployment's own directives, without the directives of the scenario
 * @throws BadInput when the fault cannot be injected into this deployment
 * @throws Failure when the deployment does not pass verification
 */
export async function prepare(run: ScenarioRun, configured: ReadonlyMap<string, string>): Promise<PreparedScenario> {
  await setDirectives(run.injector, run.scenario.settings);
  const before = await verifyBeforeFault(run);
  return { plan: planFor(run, before, configured), before };
}

/** The function reports effects that it could not reverse, and never throws. */
export async function undo(run: ScenarioRun, configured: ReadonlyMap<string, string>): Promise<void> {
  const { injector, scenario, signal, report } = run;
  const problems = [...(await injector.restore())];
  // The directives are reset after an interruption as well, because the next scenario and the owner of the deployment
  // expect the deployment's own directives.
  if (!signal.aborted || scenario.settings.size > 0)
    problems.push(...(await attemptAll(() => resetDirectives(injector, configured, scenario.settings))));
  for (const problem of problems) report(`${scenario.name}: a change could not be undone: ${problem}`);
}

async function verifyBeforeFault({ injector: { deployment }, signal }: ScenarioRun): Promise<Verification> {
  let verification = await verify(deployment);
  const passes = async (): Promise<boolean> => {
    if (!verification.verdict.pass) verification = await verify(deployment);
    return verification.verdict.pass;
  };
  if (!(await holdsInTime(passes, { signal, timeoutMs: SETTLE_MS, intervalMs: VERIFY_EVERY_MS })))
    throw new Failure(
      `${deployment.name} does not pass verification before the fault: ${failedAssertions(verification)}`,
    );
  return verification;
}

function planFor(run: ScenarioRun, before: Verification, configured: ReadonlyMap<string, string>): FaultPlan {
  const { injector, scenario } = run;
  const plan = planFault(scenario.fault, outlineOf(run, before));
  const unmet = injector.unmetPrecondition(scenario, configured);
  const where = `${scenario.name} on ${injector.deployment.name}`;
  if (unmet !== undefined) throw BadInput.of(where, "unmet-precondition", unmet);
  if (typeof plan === "string") throw BadInput.of(where, "no-fault-plan", plan);
  return plan;
}

export function failedAssertions({ verdict }: Verification): string {
  const failed = verdict.assertions.filter(({ pass }) => !pass);
  return failed.map(({ id, found }) => `${id}: ${found}`).join("; ");
}

export function outlineOf(subject: FaultSubject, { verdict }: Verification): DeploymentOutline {
  const { mode, nodes, directives, sentinels } = subject.injector.deployment;
  const { initialPrimaries } = subject;
  const place = (primary: string): number =>
    initialPrimaries.includes(primary) ? initialPrimaries.indexOf(primary) : initialPrimaries.length;
  const promotesReplicas = directives.get("cluster-replica-no-failover") !== "yes";
  return {
    mode,
    shape: subject.shape,
    shards: verdict.shards
      .flatMap(({ primary, replicas }) => (primary === undefined ? [] : [{ primary, replicas }]))
      .toSorted((a, b) => place(a.primary) - place(b.primary)),
    zoneOf: new Map(nodes.map(({ name, zone }) => [name, zone ?? ""])),
    machineOf: new Map(nodes.map(({ name, machine }) => [name, machine])),
    sentinelZoneOf: new Map((sentinels?.nodes ?? []).map(({ name, zone }) => [name, zone ?? ""])),
    hasAutomaticFailover: mode === "cluster" ? promotesReplicas : subject.hasAutomaticFailover,
    persistent: directives.get("appendonly") === "yes",
    rediscoversPeers: subject.injector.rediscoversPeers,
  };
}
