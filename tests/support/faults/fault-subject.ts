/** Deployments of real servers that tests inject faults into. */
import { compact } from "../../../lib/compact";
import type { HostDeploymentPlan } from "../../../platforms/host/deployment-plan";
import type { Host } from "../../../platforms/host/host";
import { connect } from "../../../valkey/connection";
import type { Endpoint } from "../../../valkey/node";
import type { Deployment } from "../../../valkey/deployment";
import { type WriteAccounting, accountForWrites } from "../../../faults/writes/accounting";
import { runScenarios } from "../../../faults/scenarios/run-scenario";
import type { FaultSubject, ScenarioResult } from "../../../faults/scenarios/scenario-run";
import type { Fault } from "../../../faults/plan/fault";
import type { Scenario } from "../../../faults/plan/scenario";
import { HostFaultInjector } from "../../../faults/injectors/host-injector";
import { WriteClient } from "../../../faults/writes/write-client";
import { unmetPartitionPrecondition, unmetDiskPrecondition } from "../../../platforms/host/side-effects";
import { verify } from "../../../valkey/verification/verify";
import { never, ZONES, type Sandbox } from "../valkey/real";

export const SHORT_SCENARIO = {
  load: { rate: 500, bytes: 64, timeoutMs: 400, acknowledgement: { replicas: 0, timeoutMs: 0 } },
  settings: new Map<string, string>(),
  beforeSeconds: 0.3,
  afterSeconds: 0.1,
  recoveryTimeoutSeconds: 40,
  repair: true,
};
/** For hand-overs: FAILOVER holds writes until a job that the replica runs once a second. */
export const PATIENT_LOAD = { ...SHORT_SCENARIO.load, timeoutMs: 4000 };
const SETTINGS = {
  appendonly: true,
  appendfsync: "everysec",
  "repl-diskless-sync-delay": 0,
  "repl-diskless-load": "swapdb",
} as const;
export const NODE_TIMEOUT_MS = 300;
export const [UNMET_FOR_CUTS, UNMET_FOR_DISKS] = [unmetPartitionPrecondition(), unmetDiskPrecondition()];
export const skipReason = (unmet: string | undefined): string => (unmet === undefined ? "" : ` (skipped: ${unmet})`);

export async function openFaultSubject(sandbox: Sandbox, mode: "cluster" | "replication"): Promise<FaultSubject> {
  const shape = mode === "cluster" ? { primaries: 3, replicasPerPrimary: 1 } : { primaries: 1, replicasPerPrimary: 1 };
  const settings =
    mode === "cluster" ? { ...SETTINGS, save: "", "cluster-node-timeout": NODE_TIMEOUT_MS } : { ...SETTINGS, save: "" };
  const deployment = await sandbox.host.start(
    {
      name: mode,
      mode,
      shape,
      settings,
      zones: ZONES,
      zoneAddresses: UNMET_FOR_CUTS === undefined,
      diskBytes: UNMET_FOR_DISKS === undefined ? 64 * 1024 ** 2 : undefined,
    },
    never,
  );
  await sandbox.host.form(deployment, shape, {});
  return hostFaultSubject(sandbox.host, deployment, { mode, shape }, never);
}

export async function hostFaultSubject(
  host: Host,
  deployment: Deployment,
  { mode, shape }: Pick<HostDeploymentPlan, "mode" | "shape">,
  signal: AbortSignal,
): Promise<FaultSubject> {
  const { verdict } = await verify(deployment);
  return {
    injector: new HostFaultInjector(host, deployment, signal),
    shape,
    hasAutomaticFailover: mode === "cluster",
    initialPrimaries: compact(verdict.shards.map(({ primary }) => primary)),
  };
}

/** Runs a short scenario once. @returns its record, which agrees with the list of lost writes */
export async function injectFault(
  subject: FaultSubject,
  fault: Fault,
  changes: Partial<Scenario> = {},
): Promise<ScenarioResult["record"]> {
  const results: ScenarioResult[] = [];
  await runScenarios([{ scenario: { name: fault.kind, fault, ...SHORT_SCENARIO, ...changes }, repeats: 1, subject }], {
    signal: never,
    report: () => undefined,
    onResult: (result) => results.push(result),
  });
  const [result] = results;
  if (result === undefined) throw new Error("no scenario was run");
  const { record, lost } = result;
  const { writes, recoveryFailure, anomalies, unread } = record;
  if (recoveryFailure !== null || anomalies.length > 0 || unread > 0)
    throw new Error(`${recoveryFailure ?? ""} ${anomalies.join()} ${unread} unread`);
  if (lost.length !== record.lost.count || writes.acknowledged + writes.failed + writes.unknown !== writes.due)
    throw new Error(`the counts do not agree: ${JSON.stringify(writes)}`);
  return record;
}

/** Accounts for writes that `lose` destroys after the writes have stopped and before the keys are read back. */
export async function accountAfterLoss(
  subject: FaultSubject,
  lose: (writer: WriteClient) => Promise<void>,
): Promise<{ accounting: WriteAccounting; writer: WriteClient }> {
  const { injector } = subject;
  const { verdict } = await verify({ ...injector.deployment, nodes: injector.nodes() });
  const target = {
    mode: injector.deployment.mode,
    shards: verdict.shards.map(({ slots }) => slots),
    nodes: injector.nodes,
    dial: (endpoint: Endpoint) => connect("a node", endpoint, injector.deployment.access, 2000),
  };
  const writer = new WriteClient(target, { ...SHORT_SCENARIO.load, rate: 2000 }, `lost:${process.pid}:`);
  try {
    await writer.start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    await writer.stop();
    await lose(writer);
    return { accounting: accountForWrites(writer.history.byKey(), await writer.readBack()), writer };
  } finally {
    writer.close();
  }
}

export function withCurrentNodes({ injector }: FaultSubject): Deployment {
  return { ...injector.deployment, nodes: injector.nodes() };
}
