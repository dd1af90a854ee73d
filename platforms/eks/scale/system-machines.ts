/** System machines: the pods that run on them, and the smallest machine type that has room for these pods. */
import { type Problem, problem } from "../../../lib/errors";
import { formatCount } from "../../../lib/units";
import { type AllocatableResources, allocatableOn, DAEMON_ADDRESSES, UNTUNED } from "../pools/tuning";
import { type MachineType, familyOf, MACHINE_TYPES, machineType, unknownTypeProblem } from "../offers/machine-types";
import type { PriceTable } from "../offers/prices";

/**
 * Karpenter 1.14.1 used 994 MiB with 2,370 NodeClaims before any Node existed, 0.4 MiB each. Three times as large,
 * because Nodes, their pods and the simulation of a batch need memory as well.
 */
const MEMORY_PER_MACHINE_MIB = 1.25;
const BASE_MEMORY_MIB = 512;
/** It is the value in "Getting Started with Karpenter". */
const LEAST_MEMORY_MIB = 1024;
const MEMORY_STEP_MIB = 512;

/** Half a CPU is enough, although "Getting Started with Karpenter" requests one CPU. */
const SMALL_CONTROLLER = { machines: 100, cpuMilli: 500 };
const MACHINES_PER_CPU = 1000;

/** Each needs its own machine. */
export const KARPENTER_REPLICAS = 2;

const LEAST_DNS_REPLICAS = 2;
/**
 * EKS' "Scale CoreDNS Pods for high DNS traffic" advises one replica for 16 machines or for 256 CPUs. CPUs are ignored,
 * because even a machine with 64 CPUs may run a single pod.
 */
const MACHINES_PER_DNS_REPLICA = 16;

/** Machines for Karpenter, CoreDNS and the volume controller. */
export interface SystemArgs {
  /** Machine type. @default the smallest m7g type that is large enough */
  readonly instanceType?: string | undefined;
  /** Number of machines, at least 2, because each of Karpenter's two replicas needs its own machine. @default 2 */
  readonly machines: number;
}

/** System machines, and the pods that run on them. */
export interface SystemPlan {
  readonly instanceType: string;
  readonly machines: number;
  /** Number of machines that Karpenter starts. */
  readonly startedMachines: number;
  readonly karpenter: ControllerSize;
  readonly dnsReplicas: number;
}

/** Every region with a price table has this family. */
const FAMILY = "m7g";
/** A machine with one vCPU has addresses for only four pods besides the DaemonSets. */
const MIN_VCPUS = 2;

/** One replica of CoreDNS, and of the volume controller: six containers with 10m and 40 MiB each. */
const DNS = { cpuMilli: 100, memoryMiB: 70 };
const VOLUME_CONTROLLER = { cpuMilli: 60, memoryMiB: 240 };
const VOLUME_CONTROLLER_REPLICAS = 2;

/** For a managed node group: `large` with at least `vcpus` vCPUs, else `small`. */
const MANAGED_PODS = { small: 110, large: 250, vcpus: 30 };

export function planSystem(
  { instanceType, machines }: SystemArgs,
  startedMachines: number,
  prices: PriceTable | undefined,
): SystemPlan {
  const plan = { machines, startedMachines, karpenter: karpenterSize(startedMachines), ...dnsOf(startedMachines) };
  return { ...plan, instanceType: instanceType ?? smallestType(plan, prices) ?? largestType(prices) };
}

function dnsOf(startedMachines: number): Pick<SystemPlan, "dnsReplicas"> {
  return { dnsReplicas: dnsReplicas(startedMachines) };
}

export function systemPodAddresses(plan: Omit<SystemPlan, "instanceType">): number {
  return busiestMachine(plan).pods + DAEMON_ADDRESSES;
}

/** Worst case: one Karpenter, an even share of CoreDNS, both replicas of the volume controller. */
function busiestMachine({
  machines,
  karpenter,
  dnsReplicas: replicas,
}: Omit<SystemPlan, "instanceType">): AllocatableResources {
  const share = Math.ceil(replicas / Math.max(1, machines));
  return {
    cpuMilli: karpenter.cpuMilli + share * DNS.cpuMilli + VOLUME_CONTROLLER_REPLICAS * VOLUME_CONTROLLER.cpuMilli,
    memoryMiB: karpenter.memoryMiB + share * DNS.memoryMiB + VOLUME_CONTROLLER_REPLICAS * VOLUME_CONTROLLER.memoryMiB,
    pods: 1 + share + VOLUME_CONTROLLER_REPLICAS,
    volumes: 0,
  };
}

function roomOn(type: MachineType): AllocatableResources {
  const room = allocatableOn(type, UNTUNED);
  const managed = type.vcpus < MANAGED_PODS.vcpus ? MANAGED_PODS.small : MANAGED_PODS.large;
  return { ...room, pods: Math.min(room.pods, managed) };
}

function hasRoom(type: MachineType, plan: Omit<SystemPlan, "instanceType">): boolean {
  const [room, needed] = [roomOn(type), busiestMachine(plan)];
  return needed.cpuMilli <= room.cpuMilli && needed.memoryMiB <= room.memoryMiB && needed.pods <= room.pods;
}

function candidates(prices: PriceTable | undefined): { readonly name: string; readonly type: MachineType }[] {
  return MACHINE_TYPES.flatMap((name) => {
    const type = machineType(name);
    const isOffered = prices === undefined || prices.machines[name] !== undefined;
    return familyOf(name) === FAMILY && type !== undefined && type.vcpus >= MIN_VCPUS && isOffered
      ? [{ name, type }]
      : [];
  }).sort((a, b) => a.type.vcpus - b.type.vcpus);
}

function smallestType(plan: Omit<SystemPlan, "instanceType">, prices: PriceTable | undefined): string | undefined {
  return candidates(prices).find(({ type }) => hasRoom(type, plan))?.name;
}

/** If every type is too small, the plan uses this type and reports the problem. */
function largestType(prices: PriceTable | undefined): string {
  return candidates(prices).at(-1)?.name ?? `${FAMILY}.large`;
}

export function systemProblems(plan: SystemPlan, prices: PriceTable | undefined): Problem[] {
  const { instanceType, machines } = plan;
  const path = "system.instanceType";
  const type = machineType(instanceType);
  const tooFew: Problem[] =
    machines < KARPENTER_REPLICAS
      ? [
          problem(
            "too-few-machines",
            "system.machines",
            `expected at least ${KARPENTER_REPLICAS}, not ${machines}: Karpenter has two replicas, and each needs a machine`,
          ),
        ]
      : [];
  if (type === undefined) return [...tooFew, problem("unknown-type", path, unknownTypeProblem(instanceType))];
  if (prices !== undefined && prices.machines[instanceType] === undefined) {
    const message = `the prices of ${prices.date} for ${prices.region} do not contain ${instanceType}`;
    return [...tooFew, problem("no-price", path, message)];
  }
  // If there are too few machines, only their number is reported: with more machines, the type may be large enough.
  return tooFew.length > 0 || hasRoom(type, plan)
    ? tooFew
    : [problem("no-room", path, roomMessage(plan, type, prices))];
}

function roomMessage(plan: SystemPlan, type: MachineType, prices: PriceTable | undefined): string {
  const { instanceType, startedMachines, dnsReplicas: replicas } = plan;
  const [room, needed] = [roomOn(type), busiestMachine(plan)];
  const least = smallestType(plan, prices);
  const remedy = least === undefined ? "more system.machines" : `expected at least ${least}, or more system.machines`;
  return (
    `${instanceType} has ${room.cpuMilli}m CPU and ${room.memoryMiB} MiB for ${room.pods} pods, but Karpenter with its ` +
    `share of ${formatCount(replicas)} CoreDNS replicas needs ${needed.cpuMilli}m CPU and ${needed.memoryMiB} MiB for ` +
    `${needed.pods} pods at ${formatCount(startedMachines)} machines; ${remedy}`
  );
}

/** Resources of Karpenter for a number of planned machines. */
export interface ControllerSize {
  /** CPU request, thousandths. Karpenter has no CPU limit. */
  readonly cpuMilli: number;
  /**
   * Memory request, which is also the memory limit. Karpenter's chart derives the soft memory limit of the Go runtime
   * from this limit.
   */
  readonly memoryMiB: number;
}

/** Only one of the two replicas works at a time. @param machines that Karpenter starts */
export function karpenterSize(machines: number): ControllerSize {
  const memory = BASE_MEMORY_MIB + machines * MEMORY_PER_MACHINE_MIB;
  return {
    cpuMilli:
      machines <= SMALL_CONTROLLER.machines ? SMALL_CONTROLLER.cpuMilli : 1000 * Math.ceil(machines / MACHINES_PER_CPU),
    memoryMiB: Math.max(LEAST_MEMORY_MIB, Math.ceil(memory / MEMORY_STEP_MIB) * MEMORY_STEP_MIB),
  };
}

/** It can be low, because pods resolve names only when they start and when they connect. */
export function dnsReplicas(machines: number): number {
  return Math.max(LEAST_DNS_REPLICAS, Math.ceil(machines / MACHINES_PER_DNS_REPLICA));
}
