/** What machine types are: processors, memory, network, and how much of it is left for pods. Pure; the table is `../prices/machines.json`. */
import { z } from "zod";
import table from "./prices/machines.json";

const positive = z.int().min(1);

const machineSchema = z.strictObject({
  vcpus: positive,
  memoryMiB: positive,
  /** Sustained, not what a burst reaches. */
  networkMbps: positive,
  /** Of the kubelet, after what it keeps for itself and the system; thousandths of a CPU. */
  allocatableCpuMilli: positive,
  allocatableMemoryMiB: positive,
  /** Network interfaces that can be attached. */
  interfaces: positive,
  /** IPv4 addresses each interface can have, the first of them its own. */
  addressesPerInterface: positive,
});

/** A machine type, by the figures that planning needs. */
export type MachineType = z.infer<typeof machineSchema>;

const MACHINES = z
  .strictObject({ sources: z.array(z.unknown()), machines: z.record(z.string(), machineSchema) })
  .parse(table).machines;

/** Every machine type there are figures of, by name, such as `r7g.large`: all of them Graviton. */
export const MACHINE_TYPES: readonly string[] = Object.keys(MACHINES);

/** @returns undefined where the table does not know the type */
export function machineType(name: string): MachineType | undefined {
  return MACHINES[name];
}

/** `r7g` of `r7g.large`. */
export function familyOf(type: string): string {
  return type.split(".")[0] ?? type;
}

/** How a pool's machines are set up beyond the defaults. */
export interface Tuning {
  /**
   * CPUs that take the network card's interrupts (S4 gives 2 of 8): CPU 0, then from the last one down, because the kubelet gives
   * whole CPUs to pods from the lowest up. @default 0: the kernel spreads them
   */
  readonly interruptCpus: number;
  /**
   * Whole CPUs of their own for Guaranteed pods that ask for whole ones (S4, S5). CPU 0 is kept for the system, which the
   * kubelet's static policy requires; the other CPUs for interrupts are free as long as pods leave them. @default false
   */
  readonly staticCpus: boolean;
}

export const UNTUNED: Tuning = { interruptCpus: 0, staticCpus: false };

/** CPUs that no pod gets on a machine with static CPU management; 0 without. */
export function reservedCpus({ staticCpus }: Tuning): number {
  return staticCpus ? 1 : 0;
}

/** What is left of a machine for pods that are not there on every machine. */
export interface AllocatableResources {
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  readonly pods: number;
  readonly volumes: number;
}

/** Volumes that a Nitro machine can have beside its root volume and its first network interface, which share 28 attachments on many types. */
const MOST_VOLUMES = 26;

/** Requests of what runs on every machine: aws-node 50m, kube-proxy 100m, ebs-csi-node 3 × 10m and 3 × 40 MiB; the Pod Identity agent has none. */
const DAEMONS: AllocatableResources = { cpuMilli: 180, memoryMiB: 120, pods: 4, volumes: 0 };

/** Pods on every machine that have an address of their own: ebs-csi-node. The others use the machine's. */
export const DAEMON_ADDRESSES = 1;

export function allocatableOn(machine: MachineType, tuning: Tuning): AllocatableResources {
  // Karpenter adds what is reserved here to what the kubelet keeps anyway, so whole CPUs may be one fewer than the machine's less the reserved.
  const cpuMilli = machine.allocatableCpuMilli - 1000 * reservedCpus(tuning);
  // Karpenter and the machine's own set-up both count pods by addresses without prefixes, two of them on the machine's own.
  const pods = machine.interfaces * (machine.addressesPerInterface - 1) + 2;
  return {
    cpuMilli: Math.max(0, cpuMilli - DAEMONS.cpuMilli),
    memoryMiB: machine.allocatableMemoryMiB - DAEMONS.memoryMiB,
    pods: pods - DAEMONS.pods,
    volumes: MOST_VOLUMES,
  };
}
