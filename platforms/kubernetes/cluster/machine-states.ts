/** States of all machines of a Kubernetes cluster: which machines report to the API server. */
import type { V1Node } from "@kubernetes/client-node";
import type { KubernetesClient } from "../api/client";
import { isMachineReady } from "../api/machine-conditions";
import { resourceName } from "../api/pod-diagnostics";

/** State of a machine, as the API server reports it. */
export interface MachineState {
  readonly name: string;
  readonly isReady: boolean;
  /**
   * Text that changes whenever the machine becomes Ready or not Ready. It contains the time of that change by a clock
   * of Kubernetes, so compare it only for equality.
   */
  readonly change: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Reads the states of all machines. @throws Failure when this program has no permission to list machines */
export async function listMachineStates(kubernetes: KubernetesClient): Promise<MachineState[]> {
  const { items } = await kubernetes.call("reading machines", kubernetes.core.listNode());
  return items.map(machineState);
}

/** State of a machine. */
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
