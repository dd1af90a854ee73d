/** Describes the machines of a Kubernetes cluster: their zones, and other properties that affect results. */
import type { V1Node } from "@kubernetes/client-node";
import type { Machine } from "./machine";
import type { KubernetesClient } from "../api/client";
import { resourceName } from "../api/pod-diagnostics";
import { parseQuantity } from "../api/quantity";
import { Semaphore } from "../../../lib/semaphore";

const ZONE_LABEL = "topology.kubernetes.io/zone";
const INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type";
/** Highest number of requests at the same time. */
const QUESTIONS = 16;

/**
 * Reads machines from the API server.
 * @param names names of machines. A name may occur several times; the result has each machine once
 * @throws Failure when this program has no permission to read machines
 */
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
