/** How many machines of which type each pool needs in each zone. Pure. */
import { byZone } from "../../../benchmarks/topology/placement";
import type { Problem } from "./problem";
import type { MachineType, Room } from "./machines";
import { DAEMON_ADDRESSES, familyOf, machineType, MACHINE_TYPES, roomOn } from "./machines";
import type { PodGroup } from "./pods";
import type { PoolArgs, PoolName } from "./pools";
import { POOLS } from "./pools";
import type { PriceTable } from "./prices";

/** Machines alike. */
export interface MachineGroup {
  readonly pool: PoolName | "system";
  readonly type: string;
  readonly zone: string;
  readonly count: number;
  readonly vcpus: number;
  /** Most addresses that the pods of one of them take, besides the machine's own. */
  readonly podAddresses: number;
}

/** Those that are configured. */
export type Pools = Readonly<Partial<Record<PoolName, PoolArgs | undefined>>>;

/** The type of a pool that holds its largest pod at the least price; by vCPUs where prices are not known. */
interface Choice {
  readonly name: string;
  readonly type: MachineType;
  readonly room: Room;
}

/**
 * Machines for the groups, zone by zone: pods that want a machine for themselves get one, the others are put where
 * they first fit, largest first. Karpenter decides in the end; with one machine type in a pool it decides the same.
 * @param prices of the region; undefined where there are none
 */
export function planMachines(groups: readonly PodGroup[], pools: Pools, prices: PriceTable | undefined): { machines: MachineGroup[]; problems: Problem[] } {
  const problems: Problem[] = POOLS.flatMap((pool) => typeProblems(pool, pools[pool], prices));
  const machines = POOLS.flatMap((pool) => {
    const members = groups.filter((group) => group.pool === pool && group.pods.length > 0);
    if (members.length === 0) return [];
    const args = pools[pool];
    if (args === undefined) {
      problems.push({ path: ["pools", pool], message: `is missing, and ${members.map(({ name }) => name).join(", ")} would run there` });
      return [];
    }
    const choice = chooseType(args, members, prices);
    if (choice === undefined) {
      problems.push(...roomProblems(pool, args, members));
      return [];
    }
    return fillZones(pool, choice, members);
  });
  return { machines, problems };
}

function typeProblems(pool: PoolName, args: PoolArgs | undefined, prices: PriceTable | undefined): Problem[] {
  return (args?.instanceTypes ?? []).flatMap((name, index) => {
    const path = ["pools", pool, "instanceTypes", index];
    const type = machineType(name);
    if (type === undefined) return [{ path, message: `${name} is not in the table of machine types${suggestion(name)}` }];
    const { interruptCpus } = args?.tuning ?? { interruptCpus: 0 };
    return [
      ...(prices !== undefined && prices.machines[name] === undefined ? [{ path, message: `${name} has no price in the table of ${prices.region} of ${prices.date}; known there: ${Object.keys(prices.machines).filter((other) => familyOf(other) === familyOf(name)).join(", ") || "none of its family"}` }] : []),
      ...(interruptCpus >= type.vcpus ? [{ path: ["pools", pool, "tuning", "interruptCpus"], message: `${interruptCpus} of the ${type.vcpus} CPUs of ${name} leave none for Valkey; at most ${type.vcpus - 1}` }] : []),
    ];
  });
}

function suggestion(name: string): string {
  const family = familyOf(name);
  const sizes = MACHINE_TYPES.filter((type) => familyOf(type) === family);
  if (sizes.length > 0) return `; of ${family} there are ${sizes.join(", ")}`;
  const families = [...new Set(MACHINE_TYPES.map(familyOf))];
  return `, which has none of the family ${family}; known families: ${families.join(", ")}`;
}

function chooseType(args: PoolArgs, groups: readonly PodGroup[], prices: PriceTable | undefined): Choice | undefined {
  const fitting = args.instanceTypes.flatMap((name) => {
    const type = machineType(name);
    if (type === undefined) return [];
    const room = roomOn(type, args.tuning);
    return groups.every((group) => group.cpuMilli <= room.cpuMilli && group.memoryMiB <= room.memoryMiB) ? [{ name, type, room }] : [];
  });
  const cost = ({ name, type }: Choice): number => prices?.machines[name]?.usdPerHour ?? type.vcpus;
  return fitting.reduce<Choice | undefined>((best, each) => (best === undefined || cost(each) < cost(best) ? each : best), undefined);
}

function roomProblems(pool: PoolName, args: PoolArgs, groups: readonly PodGroup[]): Problem[] {
  const rooms = args.instanceTypes.flatMap((name) => {
    const type = machineType(name);
    if (type === undefined) return [];
    const room = roomOn(type, args.tuning);
    return [`${name} ${room.cpuMilli}m and ${room.memoryMiB} MiB`];
  });
  // Types that are not known have been said already.
  if (rooms.length === 0) return [];
  const asked = groups.map(({ name, cpuMilli, memoryMiB }) => `${name} asks for ${cpuMilli}m and ${memoryMiB} MiB`).join("; ");
  return [{ path: ["pools", pool, "instanceTypes"], message: `no type has room for every pod: ${asked}; beside what runs on every machine there are: ${rooms.join(", ")}` }];
}

function fillZones(pool: PoolName, { name, type, room }: Choice, groups: readonly PodGroup[]): MachineGroup[] {
  const placed = groups.flatMap((group) => group.pods.map((pod) => ({ zone: pod.zone, group })));
  return [...byZone(placed)].map(([zone, pods]) => {
    const { machines, fullest } = pack(pods.map(({ group }) => group), room);
    return { pool, type: name, zone, count: machines, vcpus: type.vcpus, podAddresses: fullest + DAEMON_ADDRESSES };
  });
}

/** First fit, largest first: alone or beside what leaves enough. @returns how many machines, and the most pods on one */
function pack(pods: readonly PodGroup[], room: Room): { machines: number; fullest: number } {
  const alone = pods.filter((group) => group.alone).length;
  const sharing = pods.filter((group) => !group.alone).sort((a, b) => b.cpuMilli - a.cpuMilli || b.memoryMiB - a.memoryMiB);
  const left: { cpuMilli: number; memoryMiB: number; pods: number }[] = [];
  for (const { cpuMilli, memoryMiB } of sharing) {
    let machine = left.find((each) => each.cpuMilli >= cpuMilli && each.memoryMiB >= memoryMiB && each.pods > 0);
    if (machine === undefined) left.push((machine = { ...room }));
    machine.cpuMilli -= cpuMilli;
    machine.memoryMiB -= memoryMiB;
    machine.pods--;
  }
  return { machines: alone + left.length, fullest: Math.max(alone > 0 ? 1 : 0, ...left.map(({ pods: free }) => room.pods - free)) };
}
