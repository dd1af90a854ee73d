/** A server that merely does not reply may still serve clients, so its machine must be known to be off. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { isMachineReady, isOutOfService, OUT_OF_SERVICE } from "../api/machine-conditions";
import { resourceName } from "../api/pod-diagnostics";

export type LastMachines = ReadonlyMap<string, string>;

interface ServerEvidence {
  readonly names: readonly string[];
  readonly machines: readonly V1Node[];
  readonly lastMachines: LastMachines;
}

export interface StoppedServers {
  /** Names of the pods whose machines are known to be off, each with the reason. */
  readonly stopped: ReadonlyMap<string, string>;
  /** Reasons why servers of machines that do not report may still run, one phrase each. */
  readonly doubts: readonly string[];
}

/**
 * A pod that is not scheduled keeps its last machine: Kubernetes deletes the pods of machines that are gone, and the
 * new ones may wait for their volumes.
 */
export function rememberPodMachines(former: LastMachines, pods: readonly V1Pod[]): LastMachines {
  const seen = pods.flatMap((pod): [string, string][] =>
    pod.spec?.nodeName === undefined ? [] : [[resourceName(pod), pod.spec.nodeName]],
  );
  return new Map([...former, ...seen]);
}

/**
 * The Node object is gone, or has the taint out-of-service and is not ready. A machine that is not ready may run
 * servers. If half of the remaining machines are not ready, the API server itself may be cut off, and no server counts.
 */
export function findStoppedServers({ names, machines, lastMachines }: ServerEvidence): StoppedServers {
  const known = new Map(machines.map((machine) => [resourceName(machine), machine]));
  const on = machines.filter((machine) => isMachineReady(machine) || !isOutOfService(machine));
  const silent = on.filter((machine) => !isMachineReady(machine));
  if (silent.length * 2 >= on.length)
    return { stopped: new Map(), doubts: [`${silent.length} of ${on.length} machines are not ready`] };
  const stopped = new Map<string, string>();
  const doubts: string[] = [];
  for (const name of names) {
    const machine = lastMachines.get(name);
    const node = known.get(machine ?? "");
    if (machine === undefined) doubts.push(`it is unknown on which machine ${name} ran`);
    else if (node === undefined) stopped.set(name, `machine ${machine} does not exist any more`);
    else if (!isMachineReady(node) && isOutOfService(node)) stopped.set(name, `machine ${machine} is out of service`);
    else if (!isMachineReady(node)) doubts.push(mayRun(name, machine));
  }
  return { stopped, doubts };
}

/** Reason why the server may still run, and what to do if the machine is off. */
function mayRun(name: string, machine: string): string {
  const command = `kubectl taint node ${machine} ${OUT_OF_SERVICE}=nodeshutdown:NoExecute`;
  return `machine ${machine} is not ready and may still run ${name}; if it is off, delete its Node object or run: ${command}`;
}
