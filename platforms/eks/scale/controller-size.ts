/** Resources of Karpenter and CoreDNS for a number of planned machines. Pure. */

export interface ControllerSize {
  /** CPU request, thousandths. Karpenter has no CPU limit. */
  readonly cpuMilli: number;
  /**
   * Memory request, which is also the memory limit. Karpenter's chart derives the soft memory limit of the Go runtime
   * from this limit.
   */
  readonly memoryMiB: number;
}

/**
 * Memory of Karpenter per machine. Karpenter 1.14.1 used 994 MiB with 2,370 NodeClaims before any Node existed, which
 * is 0.4 MiB per NodeClaim. The value is three times as large, because Nodes, their pods and the simulation of a batch
 * need memory as well.
 */
const MEMORY_PER_MACHINE_MIB = 1.25;
const BASE_MEMORY_MIB = 512;
/** Lowest memory for Karpenter. It is the value in "Getting Started with Karpenter". */
const LEAST_MEMORY_MIB = 1024;
const MEMORY_STEP_MIB = 512;

/** CPU request for small clusters. Half a CPU is enough, although "Getting Started with Karpenter" requests one CPU. */
const SMALL = { machines: 100, cpuMilli: 500 };
const MACHINES_PER_CPU = 1000;

/**
 * Resources of one replica of Karpenter. Only one of the two replicas works at a time.
 * @param machines number of machines that Karpenter starts
 */
export function karpenterSize(machines: number): ControllerSize {
  const memory = BASE_MEMORY_MIB + machines * MEMORY_PER_MACHINE_MIB;
  return {
    cpuMilli: machines <= SMALL.machines ? SMALL.cpuMilli : 1000 * Math.ceil(machines / MACHINES_PER_CPU),
    memoryMiB: Math.max(LEAST_MEMORY_MIB, Math.ceil(memory / MEMORY_STEP_MIB) * MEMORY_STEP_MIB),
  };
}

/** Number of Karpenter's replicas. Each needs its own machine. */
export const KARPENTER_REPLICAS = 2;

const LEAST_DNS_REPLICAS = 2;
/**
 * Number of machines per replica of CoreDNS. EKS' document "Scale CoreDNS Pods for high DNS traffic" advises one
 * replica for 16 machines or for 256 CPUs, whichever gives more replicas. CPUs are ignored here, because even a machine
 * with 64 CPUs may run a single pod.
 */
const MACHINES_PER_DNS_REPLICA = 16;

/**
 * Number of replicas of CoreDNS. It can be low, because pods resolve names only when they start and when they connect.
 */
export function dnsReplicas(machines: number): number {
  return Math.max(LEAST_DNS_REPLICAS, Math.ceil(machines / MACHINES_PER_DNS_REPLICA));
}
