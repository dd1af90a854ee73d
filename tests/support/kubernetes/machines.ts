/** Machines of the throw-away cluster whose power is cut, and what the API server knows of them. */
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { isMachineReady, OUT_OF_SERVICE } from "../../../platforms/kubernetes/api/machine-conditions";
import type { DeployedPods } from "./deployed-pods";
import { type ThrowAway, WHERE } from "./throw-away";

/** Command that is called with `stop MACHINE` and `start MACHINE`. Its machines share the file system of this process. */
export const MACHINE_COMMAND = process.env["VALKEY_TEST_MACHINE_COMMAND"];
/** End of a title: that tests are skipped, or where they run. */
export const ON_MACHINES =
  MACHINE_COMMAND === undefined ? " (skipped: VALKEY_TEST_MACHINE_COMMAND names no command)" : WHERE;
const UP_SECONDS = 120;

/** Cuts a machine's power, and gives it back after the work, even if the work fails. Then waits until it is Ready. */
export async function withoutPower<T>(here: ThrowAway, name: string, work: () => Promise<T>): Promise<T> {
  try {
    await machine("stop", name);
    return await work();
  } finally {
    await machine("start", name);
    await here.until(UP_SECONDS, async () =>
      (await isMachineUp(here, name)) ? undefined : `machine ${name} is not Ready again: start its kubelet`,
    );
  }
}

export function untilMachineIsDown(here: ThrowAway, name: string): Promise<void> {
  return here.until(UP_SECONDS, async () => ((await isMachineUp(here, name)) ? `${name} is Ready` : undefined));
}

/** Says that a machine is off, as a person or a cloud's controller does, or takes that back. */
export async function taintOutOfService(here: ThrowAway, name: string, isOff: boolean): Promise<void> {
  const own = { key: OUT_OF_SERVICE, value: "nodeshutdown", effect: "NoExecute" };
  const former = (await here.core.readNode({ name })).spec?.taints ?? [];
  const value = [...former.filter(({ key }) => key !== OUT_OF_SERVICE), ...(isOff ? [own] : [])];
  await here.core.patchNode({ name, body: [{ op: "add", path: "/spec/taints", value }] });
}

export async function withCordoned<T>(
  here: ThrowAway,
  machines: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  for (const each of machines) await here.cordon(each, true);
  try {
    return await work();
  } finally {
    for (const each of machines) await here.cordon(each, false);
  }
}

/** Machines by whether their zone has another: names of the others. */
export async function neighboursOfMachines(here: ThrowAway): Promise<Map<string, readonly string[]>> {
  const machines = await here.machines();
  const others = (own: (typeof machines)[number]): string[] =>
    machines.filter(({ zone, name }) => zone === own.zone && name !== own.name).map(({ name }) => name);
  return new Map(machines.map((each) => [each.name, others(each)]));
}

/** Makes servers of a machine primaries, and the machine's other servers replicas. @default count all of them */
export async function makePrimaries(pods: DeployedPods, machineName: string, count = Infinity): Promise<void> {
  const { facts, verdict } = await pods.verified();
  const own = facts.nodes.flatMap(({ node }) => (node.machine === machineName ? [node.name] : []));
  for (const [index, server] of own.entries()) {
    const shard = verdict.shards.find(({ primary }) => primary === server);
    if (index < count && shard === undefined) await takeOver(pods, server);
    if (index >= count && shard !== undefined) await takeOver(pods, shard.replicas[0] ?? "");
  }
  await pods.verified();
}

async function takeOver(pods: DeployedPods, replica: string): Promise<void> {
  await pods.withNodes(async (at) => {
    await at(replica).call("CLUSTER", "FAILOVER");
    while (!String(await at(replica).call("ROLE")).startsWith("master")) await sleep(500);
  });
}

async function isMachineUp(here: ThrowAway, name: string): Promise<boolean> {
  return isMachineReady(await here.core.readNode({ name }));
}

async function machine(action: "start" | "stop", name: string): Promise<void> {
  const [program = "", ...words] = (MACHINE_COMMAND ?? "").split(" ");
  await promisify(execFile)(program, [...words, action, name]);
}
