/** Deployments of real servers that tests break on purpose. */
import { connect } from "../../valkey/connection";
import type { Endpoint } from "../../valkey/node";
import type { Deployment } from "../../valkey/deployment";
import type { Accounting } from "../../faults/accounting";
import { account } from "../../faults/accounting";
import { breakAll } from "../../faults/break-all";
import type { Sufferer } from "../../faults/break-all";
import type { Broken } from "../../faults/break-once";
import type { Fault, Scenario } from "../../faults/fault";
import { HostBreaker } from "../../faults/host-breaker";
import { Writer } from "../../faults/writer";
import { obstacleToCuts, obstacleToDisks } from "../../platforms/host/scars";
import { verify } from "../../valkey/verification/verify";
import { never, ZONES } from "./real";
import type { Sandbox } from "./real";

export const SHORT = { load: { rate: 500, bytes: 64, timeoutMs: 400, acknowledgement: { replicas: 0, timeoutMs: 0 } }, settings: new Map<string, string>(), beforeSeconds: 0.3, afterSeconds: 0.1, patienceSeconds: 40, repair: true };
/** FAILOVER holds writes until a job of the replica's that runs once a second. */
export const PATIENT = { ...SHORT.load, timeoutMs: 4000 };
const SETTINGS = { appendonly: true, appendfsync: "everysec", "repl-diskless-sync-delay": 0, other: { "repl-diskless-load": "swapdb" } } as const;
export const NODE_TIMEOUT_MS = 300;
export const [CUTS, DISKS] = [obstacleToCuts(), obstacleToDisks()];
/** For titles. */
export const unless = (obstacle: string | undefined): string => (obstacle === undefined ? "" : ` (skipped: ${obstacle})`);

export async function sufferer(sandbox: Sandbox, mode: "cluster" | "replication"): Promise<Sufferer> {
  const shape = mode === "cluster" ? { primaries: 3, replicasPerPrimary: 1 } : { primaries: 1, replicasPerPrimary: 1 };
  const settings = mode === "cluster" ? { ...SETTINGS, save: "", "cluster-node-timeout": NODE_TIMEOUT_MS } : { ...SETTINGS, save: "" };
  const deployment = await sandbox.host.start({ name: mode, mode, shape, settings, zones: ZONES, zoneAddresses: CUTS === undefined, diskBytes: DISKS === undefined ? 64 * 1024 ** 2 : undefined }, never);
  await sandbox.host.form(deployment, shape, {});
  const { verdict } = await verify(deployment);
  return { breaker: new HostBreaker(sandbox.host, deployment, never), shape, failsOver: mode === "cluster", primaries: verdict.shards.flatMap(({ primary }) => primary ?? []) };
}

export async function suffer(whom: Sufferer, fault: Fault, changes: Partial<Scenario> = {}): Promise<Broken["record"]> {
  const found: Broken[] = [];
  await breakAll([{ scenario: { name: fault.kind, fault, ...SHORT, ...changes }, repeats: 1, sufferer: whom }], { signal: never, report: () => undefined, emit: (broken) => found.push(broken) });
  const [broken] = found;
  if (broken === undefined) throw new Error("nothing was broken");
  const { record, lost } = broken;
  const { writes, unwell, anomalies, unread } = record;
  if (unwell !== null || anomalies.length > 0 || unread > 0) throw new Error(`${unwell ?? ""} ${anomalies.join()} ${unread} unread`);
  if (lost.length !== record.lost.count || writes.acknowledged + writes.failed + writes.unknown !== writes.due) throw new Error(`the counts do not agree: ${JSON.stringify(writes)}`);
  return record;
}

/** A server that loses writes on purpose, between a writer that has stopped and what it reads back. */
export async function accountAfter(whom: Sufferer, lose: (writer: Writer) => Promise<void>): Promise<{ accounting: Accounting; writer: Writer }> {
  const { breaker } = whom;
  const { verdict } = await verify({ ...breaker.deployment, nodes: breaker.nodes() });
  const target = { mode: breaker.deployment.mode, shards: verdict.shards.map(({ slots }) => slots), nodes: breaker.nodes, dial: (endpoint: Endpoint) => connect("a node", endpoint, breaker.deployment.access, 2000) };
  const writer = new Writer(target, { ...SHORT.load, rate: 2000 }, `lost:${process.pid}:`);
  try {
    await writer.start();
    await new Promise((resolve) => setTimeout(resolve, 500));
    await writer.stop();
    await lose(writer);
    return { accounting: account(writer.journal.histories(), await writer.readBack()), writer };
  } finally {
    writer.close();
  }
}

/** A deployment with the addresses its nodes have by now. */
export function current({ breaker }: Sufferer): Deployment {
  return { ...breaker.deployment, nodes: breaker.nodes() };
}
