/** CPU settings of a pool's machines, and what the boot script sets there, in the form that verification expects. */
import type { ExpectedTuning } from "../../../valkey/machine-settings";
import type { MachineType } from "../offers/machine-types";

/** CPU settings of a pool's machines. */
export interface Tuning {
  /**
   * Number of CPUs for the network card's interrupts. The published document "One billion requests per second" uses 2
   * of 8 CPUs. The first of these CPUs is CPU 0. The others are the last CPUs of the machine, because the kubelet
   * assigns whole CPUs to pods from the lowest number upwards.
   * @default 0: the kernel spreads the interrupts
   */
  readonly interruptCpus: number;
  /**
   * Whether pods of the class Guaranteed that request whole CPUs get exclusive CPUs, as in the published documents "One
   * billion requests per second" and "Single-node multi-shard". CPU 0 is reserved for the system, because the kubelet's
   * static policy requires a reserved CPU. Pods may get the other CPUs that handle interrupts.
   * @default false
   */
  readonly staticCpus: boolean;
}

export const UNTUNED: Tuning = { interruptCpus: 0, staticCpus: false };

export function reservedCpus({ staticCpus }: Tuning): number {
  return staticCpus ? 1 : 0;
}

/** For every container, as in the published document "One billion requests per second". */
export const FILE_DESCRIPTORS = 1_048_544;

const DEFAULT_BACKLOG = 511;

interface TunedServer {
  readonly wholeCpus: number | undefined;
  readonly backlog: string | undefined;
}

export function expectedTuning({ interruptCpus, staticCpus }: Tuning, server?: TunedServer): ExpectedTuning {
  const ownCpus = staticCpus ? server?.wholeCpus : undefined;
  return {
    openFiles: FILE_DESCRIPTORS,
    ...(server !== undefined && { acceptQueue: Number(server.backlog ?? DEFAULT_BACKLOG) }),
    ...(interruptCpus > 0 && { interruptCpus }),
    ...(ownCpus !== undefined && { ownCpus }),
  };
}

export interface AllocatableResources {
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  readonly pods: number;
  readonly volumes: number;
}

/** 28 attachments of many types of Nitro machines, without the root volume and a network interface. */
const MAX_VOLUMES = 26;

/** aws-node 50m, kube-proxy 100m, ebs-csi-node 3 × 10m and 3 × 40 MiB. The Pod Identity agent requests nothing. */
const DAEMONS: AllocatableResources = { cpuMilli: 180, memoryMiB: 120, pods: 4, volumes: 0 };

/** Only ebs-csi-node; all other DaemonSet pods use the address of the machine. */
export const DAEMON_ADDRESSES = 1;

export function allocatableOn(machine: MachineType, tuning: Tuning): AllocatableResources {
  // Karpenter subtracts the reserved CPU from the allocatable CPUs, so pods can get one whole CPU less.
  const cpuMilli = machine.allocatableCpuMilli - 1000 * reservedCpus(tuning);
  // Karpenter and the AMI both limit the number of pods. The limit is the number of addresses without prefixes, plus
  // two pods that use the machine's own address.
  const pods = machine.interfaces * (machine.addressesPerInterface - 1) + 2;
  return {
    cpuMilli: Math.max(0, cpuMilli - DAEMONS.cpuMilli),
    memoryMiB: machine.allocatableMemoryMiB - DAEMONS.memoryMiB,
    pods: pods - DAEMONS.pods,
    volumes: MAX_VOLUMES,
  };
}
