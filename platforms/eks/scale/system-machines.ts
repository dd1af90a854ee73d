/** System machines: what runs on them, and the smallest type that has room for it. Pure. */
import { formatCount } from "../../../lib/units";
import type { AllocatableResources, MachineType } from "../offers/machines";
import {
  allocatableOn,
  DAEMON_ADDRESSES,
  familyOf,
  MACHINE_TYPES,
  machineType,
  unknownTypeProblem,
  UNTUNED,
} from "../offers/machines";
import type { PriceTable } from "../offers/prices";
import type { Problem } from "../pools/problem";
import type { ControllerSize } from "./controller-size";
import { dnsReplicas, KARPENTER_REPLICAS, karpenterSize } from "./controller-size";

/** Machines that carry Karpenter, CoreDNS and the volume controller. */
export interface SystemArgs {
  /** @default the smallest m7g that has room */
  readonly instanceType?: string | undefined;
  /** Number of machines, at least 2, so that Karpenter's two replicas have machines of their own. @default 2 */
  readonly machines: number;
}

/** System machines with what runs on them. */
export interface SystemPlan {
  readonly instanceType: string;
  readonly machines: number;
  /** Machines that Karpenter starts. */
  readonly startedMachines: number;
  readonly karpenter: ControllerSize;
  readonly dnsReplicas: number;
}

/** The family of the default type: Graviton, with 4 GiB for each CPU, in every region with prices. */
const FAMILY = "m7g";
/** One with a single CPU has addresses for four pods besides the daemons, and none for what a user adds. */
const MIN_VCPUS = 2;

/** Requests of one replica. CoreDNS as its add-on; the volume controller has six containers of 10m and 40 MiB. */
const DNS = { cpuMilli: 100, memoryMiB: 70 };
const VOLUME_CONTROLLER = { cpuMilli: 60, memoryMiB: 240 };
const VOLUME_CONTROLLER_REPLICAS = 2;

/** A managed node group lets no more pods on a machine, and more on those with 30 vCPUs or more. */
const MANAGED_PODS = { small: 110, large: 250, vcpus: 30 };

/** @param startedMachines machines that Karpenter starts */
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

/** Addresses that the pods of one system machine take. */
export function systemPodAddresses(plan: Omit<SystemPlan, "instanceType">): number {
  return busiestMachine(plan).pods + DAEMON_ADDRESSES;
}

/** One Karpenter, an even share of CoreDNS, and both volume controllers: the scheduler may put them together. */
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

/** Types of the default family that can be bought, smallest first. */
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

/** Where no type has room; the problem is reported with it. */
function largestType(prices: PriceTable | undefined): string {
  return candidates(prices).at(-1)?.name ?? `${FAMILY}.large`;
}

/** Why these machines cannot carry what has to run on them. */
export function systemProblems(plan: SystemPlan, prices: PriceTable | undefined): Problem[] {
  const { instanceType, machines } = plan;
  const path = ["system", "instanceType"];
  const type = machineType(instanceType);
  const tooFew: Problem[] =
    machines < KARPENTER_REPLICAS
      ? [
          {
            path: ["system", "machines"],
            message: `${machines} are too few: each of Karpenter's two replicas needs a machine; at least ${KARPENTER_REPLICAS}`,
          },
        ]
      : [];
  if (type === undefined) return [...tooFew, { path, message: unknownTypeProblem(instanceType) }];
  if (prices !== undefined && prices.machines[instanceType] === undefined) {
    const message = `${instanceType} has no price in the table of ${prices.region} of ${prices.date}`;
    return [...tooFew, { path, message }];
  }
  // Too few machines would blame the type as well.
  return tooFew.length > 0 || hasRoom(type, plan) ? tooFew : [{ path, message: roomMessage(plan, type, prices) }];
}

function roomMessage(plan: SystemPlan, type: MachineType, prices: PriceTable | undefined): string {
  const { instanceType, startedMachines, dnsReplicas: replicas } = plan;
  const [room, needed] = [roomOn(type), busiestMachine(plan)];
  const least = smallestType(plan, prices);
  const remedy = least === undefined ? "more system.machines" : `at least ${least}, or more system.machines`;
  return (
    `${instanceType} has ${room.cpuMilli}m and ${room.memoryMiB} MiB for ${room.pods} pods, and Karpenter with its ` +
    `share of ${formatCount(replicas)} CoreDNS replicas needs ${needed.cpuMilli}m and ${needed.memoryMiB} MiB for ` +
    `${needed.pods} pods at ${formatCount(startedMachines)} machines; ${remedy}`
  );
}
