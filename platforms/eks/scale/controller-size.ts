/** Resources of Karpenter and CoreDNS for a number of planned machines. Pure. */

export interface ControllerSize {
  /** Request; Karpenter has no CPU limit. */
  readonly cpuMilli: number;
  /** Request and limit. Karpenter's chart derives the Go runtime's soft limit from the limit. */
  readonly memoryMiB: number;
}

/**
 * 994 MiB measured with Karpenter 1.14.1 and 2,370 NodeClaims, before any Node existed: 0.4 MiB for each. Nodes, their
 * pods and the simulation of a batch come on top, so that each machine counts three times that.
 */
const MEMORY_PER_MACHINE_MIB = 1.25;
const BASE_MEMORY_MIB = 512;
/** Resources that "Getting Started with Karpenter" gives the controller. */
const LEAST_MEMORY_MIB = 1024;
const MEMORY_STEP_MIB = 512;

/** Half a CPU carries small clusters; "Getting Started with Karpenter" requests a whole one. */
const SMALL = { machines: 100, cpuMilli: 500 };
const MACHINES_PER_CPU = 1000;

/**
 * One replica of Karpenter; only one of two works at a time.
 * @param machines that Karpenter starts
 */
export function karpenterSize(machines: number): ControllerSize {
  const memory = BASE_MEMORY_MIB + machines * MEMORY_PER_MACHINE_MIB;
  return {
    cpuMilli: machines <= SMALL.machines ? SMALL.cpuMilli : 1000 * Math.ceil(machines / MACHINES_PER_CPU),
    memoryMiB: Math.max(LEAST_MEMORY_MIB, Math.ceil(memory / MEMORY_STEP_MIB) * MEMORY_STEP_MIB),
  };
}

/** Number of Karpenter's replicas. Each needs a machine of its own. */
export const KARPENTER_REPLICAS = 2;

const LEAST_DNS_REPLICAS = 2;
/**
 * "Scale CoreDNS Pods for high DNS traffic" of EKS: a replica for 16 machines, or for 256 CPUs where that gives more.
 * CPUs do not count here: a machine of 64 CPUs carries one pod.
 */
const MACHINES_PER_DNS_REPLICA = 16;

/** Replicas of CoreDNS. The pods on a machine resolve names when they start and when they connect. */
export function dnsReplicas(machines: number): number {
  return Math.max(LEAST_DNS_REPLICAS, Math.ceil(machines / MACHINES_PER_DNS_REPLICA));
}
