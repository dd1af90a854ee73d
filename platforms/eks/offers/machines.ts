/**
 * Machine types: processors, memory, network, and the resources left for pods. Pure; the table is
 * `prices/machines.json`.
 */
import { z } from "zod";
import existing from "./prices/families.json";
import table from "./prices/machines.json";

const positive = z.int().min(1);

/** Architectures: values of the label `kubernetes.io/arch`. */
export const ARCHITECTURES = ["arm64", "amd64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

const machineSchema = z.strictObject({
  /** Architecture: `arm64` is Graviton; `amd64` is Intel and AMD. */
  architecture: z.enum(ARCHITECTURES),
  vcpus: positive,
  memoryMiB: positive,
  /** Sustained network rate, without bursts. */
  networkMbps: positive,
  /** CPU that the kubelet leaves for pods, thousandths of a CPU. */
  allocatableCpuMilli: positive,
  allocatableMemoryMiB: positive,
  /** Number of network interfaces of the first network card. Only these interfaces have addresses for pods. */
  interfaces: positive,
  /** Number of IPv4 addresses per interface, including the interface's own. */
  addressesPerInterface: positive,
});

/** The properties of a machine type that a plan needs. */
export type MachineType = z.infer<typeof machineSchema>;

const MACHINES = z
  .strictObject({ sources: z.array(z.unknown()), machines: z.record(z.string(), machineSchema) })
  .parse(table).machines;

/** Names of the known machine types, such as `r7g.large`. They belong to the current families of c, m and r. */
export const MACHINE_TYPES: readonly string[] = Object.keys(MACHINES);

/** Finds a machine type by its name. @returns undefined if the type is not in the table */
export function machineType(name: string): MachineType | undefined {
  return MACHINES[name];
}

/** Family of a machine type, such as `r7g` for `r7g.large`. */
export function familyOf(type: string): string {
  return type.split(".")[0] ?? type;
}

const EC2 = z
  .strictObject({ source: z.object({ values: positive }), families: z.array(z.string()).min(1) })
  .parse(existing);

/**
 * Reason why a machine type is not in the table, with alternatives. Either EC2 does not have the family, or the table
 * does not contain the family or the size.
 */
export function unknownTypeProblem(name: string): string {
  const family = familyOf(name);
  const sizes = MACHINE_TYPES.filter((type) => familyOf(type) === family);
  if (sizes.length > 0)
    return `${name} is not in the table of machine types; sizes of ${family} in the table: ${sizes.join(", ")}`;
  const families = [...new Set(MACHINE_TYPES.map(familyOf))];
  const alike = families.filter((each) => each[0] === family[0]);
  const known = `known families: ${(alike.length > 0 ? alike : families).join(", ")}`;
  if (EC2.families.includes(family))
    return `${name} is not in the table of machine types, and the table has no other type of the family ${family}; ${known}`;
  const values = EC2.source.values.toLocaleString("en-US");
  return `${name} does not exist: EC2 has ${values} machine types, but no family ${family}; ${known}`;
}

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

/** Number of CPUs that no pod can get: 1 with static CPU management, and 0 without it. */
export function reservedCpus({ staticCpus }: Tuning): number {
  return staticCpus ? 1 : 0;
}

/** Resources of a machine that are left for pods after the DaemonSets. */
export interface AllocatableResources {
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  readonly pods: number;
  readonly volumes: number;
}

/**
 * Highest number of volumes that the pods of one Nitro machine can have. Many machine types allow 28 attachments. The
 * root volume and a network interface use two of these attachments.
 */
const MAX_VOLUMES = 26;

/**
 * Requests of the DaemonSets: aws-node 50m, kube-proxy 100m, ebs-csi-node 3 × 10m and 3 × 40 MiB. The Pod Identity
 * agent requests nothing.
 */
const DAEMONS: AllocatableResources = { cpuMilli: 180, memoryMiB: 120, pods: 4, volumes: 0 };

/**
 * Number of DaemonSet pods with their own address. Only ebs-csi-node has one; all other DaemonSet pods use the address
 * of the machine.
 */
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
