/** Servers that certainly do not run. A server that merely does not reply may still serve clients. Pure. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { isMachineReady, isOutOfService, OUT_OF_SERVICE } from "../api/machine-conditions";
import { resourceName } from "../api/pod-diagnostics";

export interface ServerEvidence {
  /** Names of all pods that the StatefulSet should have. */
  readonly names: readonly string[];
  /** Pods of the StatefulSet, including pods that are being deleted. */
  readonly pods: readonly V1Pod[];
  readonly machines: readonly V1Node[];
  /** Name of the container that runs Valkey. */
  readonly container: string;
}

export interface StoppedServers {
  /** Names of the pods whose servers certainly do not run, each with the reason. */
  readonly stopped: ReadonlyMap<string, string>;
  /** Reasons why other servers may still run, one phrase each. */
  readonly doubts: readonly string[];
}

/**
 * Finds servers that certainly do not run. A machine is off if it does not exist any more, or if it has the taint
 * out-of-service. A machine that is only not ready may still run servers, even servers of pods that were deleted without
 * waiting. While the majority of the machines is not ready, no server counts as stopped, because the API server itself
 * may be cut off.
 */
export function findStoppedServers({ names, pods, machines, container }: ServerEvidence): StoppedServers {
  const known = new Map(machines.map((machine) => [resourceName(machine), machine]));
  const on = machines.filter((machine) => !isOutOfService(machine));
  const silent = on.filter((machine) => !isMachineReady(machine)).map(resourceName);
  if (silent.length * 2 >= on.length && on.length > 0)
    return { stopped: new Map(), doubts: [`${silent.length} of ${on.length} machines are not ready`] };
  const byName = new Map(pods.map((pod) => [resourceName(pod), pod]));
  const stopped = new Map<string, string>();
  const doubts: string[] = [];
  for (const name of names) {
    const pod = byName.get(name);
    const machine = pod?.spec?.nodeName;
    const node = machine === undefined ? undefined : known.get(machine);
    if (machine !== undefined && (node === undefined || isOutOfService(node)))
      stopped.set(name, `machine ${machine} ${node === undefined ? "does not exist any more" : "is out of service"}`);
    else if (node !== undefined && !isMachineReady(node)) doubts.push(mayRun(machine ?? "", name));
    else if (node !== undefined && hasRunningContainer(pod, container))
      doubts.push(`the container of ${name} runs on machine ${machine ?? ""}`);
    else if (silent[0] !== undefined) doubts.push(mayRun(silent[0], name));
    else stopped.set(name, pod === undefined ? "it has no pod" : "its container does not run");
  }
  return { stopped, doubts };
}

/** @returns the doubt, and what ends it */
function mayRun(machine: string, name: string): string {
  const commands = `kubectl taint node ${machine} ${OUT_OF_SERVICE}=nodeshutdown:NoExecute`;
  return `machine ${machine} is not ready and may still run ${name}; if it is off, delete its Node object or run: ${commands}`;
}

function hasRunningContainer(pod: V1Pod | undefined, container: string): boolean {
  const status = pod?.status?.containerStatuses?.find(({ name }) => name === container);
  return status?.state?.running !== undefined;
}
