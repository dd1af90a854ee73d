/** Machines that each pool needs in each zone, by type. Pure. */
import { groupByZone } from "../../valkey/topology/placement";
import type { Problem } from "./problem";
import type { MachineType, AllocatableResources } from "./machines";
import { DAEMON_ADDRESSES, familyOf, machineType, allocatableOn, unknownTypeProblem } from "./machines";
import type { PodGroup } from "./pod-groups";
import type { PoolArgs, PoolName } from "./pools";
import { POOLS } from "./pools";
import type { PriceTable } from "./prices";

/** Machines of one pool, type and zone. */
export interface MachineGroup {
  readonly pool: PoolName | "system";
  readonly type: string;
  readonly zone: string;
  readonly count: number;
  readonly vcpus: number;
  /** Most addresses that the pods of one machine take. */
  readonly podAddresses: number;
}

/** The configured pools. */
export type Pools = Readonly<Partial<Record<PoolName, PoolArgs | undefined>>>;

/** The cheapest type that holds the largest pod; without prices, the one with the fewest vCPUs. */
interface Choice {
  readonly name: string;
  readonly type: MachineType;
  readonly room: AllocatableResources;
}

/**
 * Machines for the groups, zone by zone, by first fit with the largest pods first. Karpenter decides at run time; with
 * one machine type in a pool it decides the same. Karpenter treats a preference for separate machines as a requirement
 * while it can start machines.
 * @param prices of the region; undefined where there are none
 */
export function planMachines(
  groups: readonly PodGroup[],
  pools: Pools,
  prices: PriceTable | undefined,
): { machines: MachineGroup[]; problems: Problem[] } {
  const problems: Problem[] = POOLS.flatMap((pool) => typeProblems(pool, pools[pool], prices));
  const machines = POOLS.flatMap((pool) => {
    const members = groups.filter((group) => group.pool === pool && group.pods.length > 0);
    if (members.length === 0) return [];
    const args = pools[pool];
    if (args === undefined) {
      problems.push({
        path: ["pools", pool],
        message: `is missing, and ${members.map(({ name }) => name).join(", ")} would run there`,
      });
      return [];
    }
    const kinds = [...new Set(members.map(({ instanceType }) => instanceType))];
    return kinds.flatMap((instanceType) => {
      const alike = members.filter((group) => group.instanceType === instanceType);
      const open = instanceType === undefined ? args : { ...args, instanceTypes: [instanceType] };
      const choice = chooseType(open, alike, prices);
      if (choice !== undefined) return fillZones(pool, choice, alike);
      problems.push(...roomProblems(pool, open, alike));
      return [];
    });
  });
  return { machines, problems };
}

/** The pods of a group that have to fit on one machine. */
function unitOf({ cpuMilli, memoryMiB, pods, volume, together = false }: PodGroup): AllocatableResources {
  const count = together ? pods.length : 1;
  return {
    cpuMilli: cpuMilli * count,
    memoryMiB: memoryMiB * count,
    pods: count,
    volumes: volume === undefined ? 0 : count,
  };
}

function fits(unit: AllocatableResources, room: AllocatableResources): boolean {
  return (
    unit.cpuMilli <= room.cpuMilli &&
    unit.memoryMiB <= room.memoryMiB &&
    unit.pods <= room.pods &&
    unit.volumes <= room.volumes
  );
}

function typeProblems(pool: PoolName, args: PoolArgs | undefined, prices: PriceTable | undefined): Problem[] {
  return (args?.instanceTypes ?? []).flatMap((name, index) => {
    const path = ["pools", pool, "instanceTypes", index];
    const type = machineType(name);
    if (type === undefined) return [{ path, message: unknownTypeProblem(name) }];
    const { interruptCpus } = args?.tuning ?? { interruptCpus: 0 };
    return [
      ...(prices !== undefined && prices.machines[name] === undefined
        ? [
            {
              path,
              message: `${name} has no price in the table of ${prices.region} of ${prices.date}; known there: ${
                Object.keys(prices.machines)
                  .filter((other) => familyOf(other) === familyOf(name))
                  .join(", ") || "none of its family"
              }`,
            },
          ]
        : []),
      ...(interruptCpus >= type.vcpus
        ? [
            {
              path: ["pools", pool, "tuning", "interruptCpus"],
              message:
                `${interruptCpus} of the ${type.vcpus} CPUs of ${name} leave none for Valkey; ` +
                `at most ${type.vcpus - 1}`,
            },
          ]
        : []),
    ];
  });
}

function chooseType(args: PoolArgs, groups: readonly PodGroup[], prices: PriceTable | undefined): Choice | undefined {
  const fitting = args.instanceTypes.flatMap((name) => {
    const type = machineType(name);
    if (type === undefined) return [];
    const room = allocatableOn(type, args.tuning);
    return groups.every((group) => fits(unitOf(group), room)) ? [{ name, type, room }] : [];
  });
  const cost = ({ name, type }: Choice): number => prices?.machines[name]?.usdPerHour ?? type.vcpus;
  return fitting.reduce<Choice | undefined>(
    (best, each) => (best === undefined || cost(each) < cost(best) ? each : best),
    undefined,
  );
}

function roomProblems(pool: PoolName, args: PoolArgs, groups: readonly PodGroup[]): Problem[] {
  const rooms = args.instanceTypes.flatMap((name) => {
    const type = machineType(name);
    if (type === undefined) return [];
    const room = allocatableOn(type, args.tuning);
    return [`${name} ${room.cpuMilli}m and ${room.memoryMiB} MiB, for ${room.pods} pods and ${room.volumes} volumes`];
  });
  // `typeProblems` reports unknown types.
  if (rooms.length === 0) return [];
  const asked = groups
    .map(
      (group) =>
        `${group.name} asks for ${unitOf(group).cpuMilli}m and ${unitOf(group).memoryMiB} MiB${group.together === true ? ` for ${group.pods.length} pods on one machine` : ""}`,
    )
    .join("; ");
  return [
    {
      path: ["pools", pool, "instanceTypes"],
      message: `no type has room for every pod: ${asked}; beside what runs on every machine there are: ${rooms.join(", ")}`,
    },
  ];
}

function fillZones(pool: PoolName, { name, type, room }: Choice, groups: readonly PodGroup[]): MachineGroup[] {
  const placed = groups.flatMap((group) =>
    (group.together === true ? group.pods.slice(0, 1) : group.pods).map((pod) => ({ zone: pod.zone, group })),
  );
  return [...groupByZone(placed)].map(([zone, units]) => {
    const { machines, fullest } = pack(
      units.map(({ group }) => group),
      room,
    );
    return { pool, type: name, zone, count: machines, vcpus: type.vcpus, podAddresses: fullest + DAEMON_ADDRESSES };
  });
}

/**
 * First fit, largest first.
 * @param groups one entry per unit
 * @returns the number of machines, and the most pods on one
 */
function pack(groups: readonly PodGroup[], room: AllocatableResources): { machines: number; fullest: number } {
  const machines: { left: AllocatableResources; readonly groups: Set<PodGroup> }[] = [];
  // Index of the first machine that may have room for another unit of the group.
  const from = new Map<PodGroup, number>();
  const largestFirst = [...groups].sort(
    (a, b) => unitOf(b).cpuMilli - unitOf(a).cpuMilli || unitOf(b).memoryMiB - unitOf(a).memoryMiB,
  );
  for (const group of largestFirst) {
    const unit = unitOf(group);
    let index = from.get(group) ?? 0;
    while (index < machines.length && !takes(machines[index], group, unit)) index++;
    from.set(group, index);
    const machine = machines[index] ?? { left: room, groups: new Set<PodGroup>() };
    machines[index] = machine;
    machine.left = {
      cpuMilli: machine.left.cpuMilli - unit.cpuMilli,
      memoryMiB: machine.left.memoryMiB - unit.memoryMiB,
      pods: machine.left.pods - unit.pods,
      volumes: machine.left.volumes - unit.volumes,
    };
    machine.groups.add(group);
  }
  return { machines: machines.length, fullest: Math.max(0, ...machines.map(({ left }) => room.pods - left.pods)) };
}

function takes(
  machine: { readonly left: AllocatableResources; readonly groups: ReadonlySet<PodGroup> } | undefined,
  group: PodGroup,
  unit: AllocatableResources,
): boolean {
  return (
    machine !== undefined &&
    fits(unit, machine.left) &&
    !(group.separate && group.together !== true && machine.groups.has(group))
  );
}
