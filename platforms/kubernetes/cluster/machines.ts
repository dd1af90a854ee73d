import type { V1Node } from "@kubernetes/client-node";
import type { Machine } from "./machine";
import type { KubernetesClient } from "../api/client";
import { isMachineReady } from "../api/machine-conditions";
import { resourceName } from "../api/pod-diagnostics";
import { parseQuantity } from "../api/quantity";
import { Semaphore } from "../../../lib/semaphore";

const ZONE_LABEL = "topology.kubernetes.io/zone";
const INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type";
const QUESTIONS = 16;

export async function describeMachines(kubernetes: KubernetesClient, names: readonly string[]): Promise<Machine[]> {
  const semaphore = new Semaphore(QUESTIONS);
  const distinct = [...new Set(names)].filter((name) => name !== "").sort();
  const machines = await Promise.all(
    distinct.map((name) =>
      semaphore.run(() => kubernetes.call(`reading the zone of machine ${name}`, kubernetes.core.readNode({ name }))),
    ),
  );
  return machines.map(describe);
}

function describe(machine: V1Node): Machine {
  const { metadata, status } = machine;
  const info = status?.nodeInfo;
  return {
    name: resourceName(machine),
    zone: metadata?.labels?.[ZONE_LABEL] ?? null,
    instanceType: metadata?.labels?.[INSTANCE_TYPE_LABEL] ?? null,
    cores: parseQuantity(status?.capacity?.["cpu"] ?? "0"),
    memoryBytes: parseQuantity(status?.capacity?.["memory"] ?? "0"),
    platform: `${info?.operatingSystem ?? "unknown"}/${info?.architecture ?? "unknown"}`,
    kernel: info?.kernelVersion ?? "unknown",
    system: info?.osImage ?? "unknown",
    kubelet: info?.kubeletVersion ?? "unknown",
  };
}

export interface MachineState {
  readonly name: string;
  readonly isReady: boolean;
  /** Changes when the machine becomes Ready or not. By a clock of Kubernetes, so compare only for equality. */
  readonly change: string;
  readonly labels: Readonly<Record<string, string>>;
}

export async function listMachineStates(kubernetes: KubernetesClient): Promise<MachineState[]> {
  const { items } = await kubernetes.call("reading machines", kubernetes.core.listNode());
  return items.map(machineState);
}

export function machineState(machine: V1Node): MachineState {
  const { metadata, status } = machine;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const at = ready?.lastTransitionTime === undefined ? "" : new Date(ready.lastTransitionTime).toISOString();
  return {
    name: resourceName(machine),
    isReady: isMachineReady(machine),
    change: `${metadata?.uid ?? ""} ${ready?.status ?? "Unknown"} ${at}`,
    labels: metadata?.labels ?? {},
  };
}
