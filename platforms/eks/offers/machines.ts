/** Machine types: processors, memory, network, and what is left for pods. Pure; the table is `prices/machines.json`. */
import { z } from "zod";
import existing from "./prices/families.json";
import table from "./prices/machines.json";

const positive = z.int().min(1);

/** As the label `kubernetes.io/arch` has it. */
export const ARCHITECTURES = ["arm64", "amd64"] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

const machineSchema = z.strictObject({
  /** `arm64` is Graviton, `amd64` is Intel and AMD. */
  architecture: z.enum(ARCHITECTURES),
  vcpus: positive,
  memoryMiB: positive,
  /** Sustained rate, without bursts. */
  networkMbps: positive,
  /** CPU that the kubelet leaves for pods, thousandths. */
  allocatableCpuMilli: positive,
  allocatableMemoryMiB: positive,
  /** Network interfaces of the first network card, which carry pods. */
  interfaces: positive,
  /** IPv4 addresses per interface, with its own. */
  addressesPerInterface: positive,
});

/** The properties of a machine type that a plan needs. */
export type MachineType = z.infer<typeof machineSchema>;

const MACHINES = z
  .strictObject({ sources: z.array(z.unknown()), machines: z.record(z.string(), machineSchema) })
  .parse(table).machines;

/** Names of the known machine types, such as `r7g.large`: current families c, m and r. */
export const MACHINE_TYPES: readonly string[] = Object.keys(MACHINES);

/** @returns undefined where the table does not know the type */
export function machineType(name: string): MachineType | undefined {
  return MACHINES[name];
}

/** `r7g` of `r7g.large`. */
export function familyOf(type: string): string {
  return type.split(".")[0] ?? type;
}

const EC2 = z
  .strictObject({ source: z.object({ values: positive }), families: z.array(z.string()).min(1) })
  .parse(existing);

/**
 * The problem with a type that the table does not know, with what it knows instead: a family that EC2 does not have, a
 * family that the table does not have, or a size.
 */
export function unknownTypeProblem(name: string): string {
  const family = familyOf(name);
  const sizes = MACHINE_TYPES.filter((type) => familyOf(type) === family);
  if (sizes.length > 0)
    return `${name} is not in the table of machine types; of ${family} there are ${sizes.join(", ")}`;
  const families = [...new Set(MACHINE_TYPES.map(familyOf))];
  const alike = families.filter((each) => each[0] === family[0]);
  const known = `known families: ${(alike.length > 0 ? alike : families).join(", ")}`;
  if (EC2.families.includes(family))
    return `${name} is not in the table of machine types, which has none of the family ${family}; ${known}`;
  const values = EC2.source.values.toLocaleString("en-US");
  return `${name} does not exist: none of EC2's ${values} machine types is of the family ${family}; ${known}`;
}

/** CPU settings of a pool's machines. */
export interface Tuning {
  /**
   * CPUs for the network card's interrupts; "One billion requests per second" uses 2 of 8. CPU 0, then from the last
   * one down: the kubelet gives whole CPUs to pods from the lowest up.
   * @default 0: the kernel spreads them
   */
  readonly interruptCpus: number;
  /**
   * Exclusive CPUs for Guaranteed pods with whole CPUs, as in "One billion requests per second" and "Single-node multi-
   * shard". CPU 0 stays with the system, which the kubelet's static policy requires. Pods may take the other interrupt
   * CPUs.
   * @default false
   */
  readonly staticCpus: boolean;
}

export const UNTUNED: Tuning = { interruptCpus: 0, staticCpus: false };

/** CPUs that no pod gets: 1 with static CPU management, else 0. */
export function reservedCpus({ staticCpus }: Tuning): number {
  return staticCpus ? 1 : 0;
}

/** Room that a machine has left for pods after the DaemonSets. */
export interface AllocatableResources {
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  readonly pods: number;
  readonly volumes: number;
}

/** Volumes of a Nitro machine. Many types have 28 attachments, less the root volume and one network interface. */
const MAX_VOLUMES = 26;

/**
 * Requests of the DaemonSets: aws-node 50m, kube-proxy 100m, ebs-csi-node 3 × 10m and 3 × 40 MiB, Pod Identity agent
 * none.
 */
const DAEMONS: AllocatableResources = { cpuMilli: 180, memoryMiB: 120, pods: 4, volumes: 0 };

/** DaemonSet pods with an address of their own: ebs-csi-node. The others use the machine's. */
export const DAEMON_ADDRESSES = 1;

export function allocatableOn(machine: MachineType, tuning: Tuning): AllocatableResources {
  // Karpenter subtracts this reservation from the allocatable CPUs, so pods may get one whole CPU less.
  const cpuMilli = machine.allocatableCpuMilli - 1000 * reservedCpus(tuning);
  // Karpenter and the AMI both limit pods by addresses without prefixes, plus two on the machine's own address.
  const pods = machine.interfaces * (machine.addressesPerInterface - 1) + 2;
  return {
    cpuMilli: Math.max(0, cpuMilli - DAEMONS.cpuMilli),
    memoryMiB: machine.allocatableMemoryMiB - DAEMONS.memoryMiB,
    pods: pods - DAEMONS.pods,
    volumes: MAX_VOLUMES,
  };
}
