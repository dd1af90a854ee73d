import type { MachineType } from "../offers/machine-types";
import { type Tuning, reservedCpus } from "./tuning";

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
