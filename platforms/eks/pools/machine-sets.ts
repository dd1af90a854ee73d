/**
 * Sets of machines: which pods share machines, so that what Karpenter starts and what the scheduler binds are the same.
 * Pure.
 *
 * Karpenter plans machines for pods that wait, the scheduler binds those pods on its own, in any order and to whatever
 * machine is ready, and Karpenter plans again for the pods that are left. When the scheduler finds another arrangement
 * than Karpenter's, a pod may be left over, and Karpenter starts a machine more, or finds none that would help. A pod
 * therefore names the set of its machines (`machineSetSelector`), Karpenter labels every machine with one set, and a
 * set holds only groups for which every order needs the same machines.
 *
 * Every group is spread over its Z zones with a skew of 1: of n pods a zone has between ⌊n/Z⌋ and ⌈n/Z⌉. A machine holds
 * at most k pods of the group: 1 where its pods are apart, all where they are together, else as many as fit.
 *
 * **One group.** A zone gets another machine only when each of its machines holds k pods, so it has ⌈pods/k⌉. With
 * machines for a spread that Karpenter has planned, no pod is left over, whatever the order: while a zone has fewer than
 * ⌊n/Z⌋ pods, the zone with the fewest has room and may take one; when all have ⌊n/Z⌋, one of the zones that were planned
 * with ⌈n/Z⌉ has no more than ⌊n/Z⌋ yet, has room, and may take one. Which zones have ⌈n/Z⌉ does not change the number of
 * machines, only where they are; pods prefer the first zones, as far as the spread allows, so that Karpenter starts the
 * machines there that are planned there.
 *
 * **Several groups** share a set when one of them leads, that is, when three things hold:
 * 1. the leader has pods in every zone, ⌊n/Z⌋ ≥ 1, and no other group has other zones;
 * 2. on one machine there is room for as many of the leader's pods as it may hold, beside the most pods that each other
 *    group may bring: 1 where its pods are apart, all where they are together, else ⌈n/Z⌉;
 * 3. a group whose pods are apart has no more of them in a zone, ⌈n/Z⌉, than the leader has machines in every zone,
 *    ⌈⌊n/Z⌋/k⌉ of the leader.
 *
 * By 2 a machine refuses a pod of the leader only when it holds k of them, and a pod of another group only when it is
 * one of those that are apart and the machine holds one. So the leader's pods need the machines that they would need
 * alone, and by 3 no other group needs more than those, whoever comes first. Once the leader's machines are there, no
 * pod of another group is left over: by 1 and 3 each zone has a machine for each pod that the zone may get.
 */
import { groupByZone } from "../../../valkey/topology/placement";
import type { AllocatableResources } from "../offers/machines";
import type { PodGroup } from "./pod-groups";
import type { PoolName } from "./pools";
import { machineSetSelector } from "./pools";

const INSTANCE_TYPE = "node.kubernetes.io/instance-type";

/** Machines of one set: equal, and only for the pods of these groups. */
export interface MachineSet {
  /** Label of the first group, so that deployments that follow in the configuration change no pod of this one. */
  readonly name: string;
  readonly pool: PoolName;
  readonly type: string;
  /** Whether pods must ask for the type: the pool has others, and the machines have to hold several pods. */
  readonly pinsType: boolean;
  /** Names and labels of the groups, in the order of the configuration. */
  readonly groups: readonly { readonly name: string; readonly label: string }[];
  /** Machines by zone. */
  readonly machines: Readonly<Record<string, number>>;
}

/** Machines that groups share, by zone. */
export interface SetLayout {
  readonly machines: ReadonlyMap<string, number>;
  /** Most pods on one machine. */
  readonly fullest: number;
}

/** Labels that the node selectors of each group's pods have besides the pool's, by the group's label. */
export function nodeSelectorsOfMachineSets(
  sets: readonly MachineSet[],
): ReadonlyMap<string, Readonly<Record<string, string>>> {
  return new Map(
    sets.flatMap(({ name, type, pinsType, groups }) =>
      groups.map(({ label }) => [
        label,
        { ...machineSetSelector(name), ...(pinsType ? { [INSTANCE_TYPE]: type } : {}) },
      ]),
    ),
  );
}

/** The pods of a group that have to fit on one machine. */
export function unitOf(group: PodGroup): AllocatableResources {
  return requestsOf(group, group.together === true ? group.pods.length : 1);
}

export function fits(wanted: AllocatableResources, room: AllocatableResources): boolean {
  return (
    wanted.cpuMilli <= room.cpuMilli &&
    wanted.memoryMiB <= room.memoryMiB &&
    wanted.pods <= room.pods &&
    wanted.volumes <= room.volumes
  );
}

/**
 * The machines of a set with these groups; see the head of this file.
 * @param groups each with pods that fit a machine
 * @param room of one machine
 * @returns undefined where another order of binding may need other machines
 */
export function layoutOf(groups: readonly PodGroup[], room: AllocatableResources): SetLayout | undefined {
  const [only] = groups;
  if (groups.length === 1 && only !== undefined) return layoutLedBy(only, [], room);
  for (const leader of groups) {
    const others = groups.filter((group) => group !== leader);
    if (leads(leader, others, room)) return layoutLedBy(leader, others, room);
  }
  return undefined;
}

function leads(leader: PodGroup, others: readonly PodGroup[], room: AllocatableResources): boolean {
  const everywhere = Math.floor(leader.pods.length / zonesOf(leader).length);
  const machines = Math.ceil(everywhere / mostOnMachine(leader, room));
  return (
    everywhere >= 1 &&
    others.every((group) => zonesOf(group).every((zone) => zonesOf(leader).includes(zone))) &&
    others.every((group) => !isApart(group) || mostInZone(group) <= machines) &&
    fits(fullestMachine(leader, others, room), room)
  );
}

function layoutLedBy(leader: PodGroup, others: readonly PodGroup[], room: AllocatableResources): SetLayout {
  const most = mostOnMachine(leader, room);
  const pods =
    leader.together === true ? leader.pods.map(({ name }) => ({ name, zone: zonesOf(leader)[0] ?? "" })) : leader.pods;
  const machines = [...groupByZone(pods)].map(([zone, own]): [string, number] => [zone, Math.ceil(own.length / most)]);
  return { machines: new Map(machines), fullest: fullestMachine(leader, others, room).pods };
}

function fullestMachine(
  leader: PodGroup,
  others: readonly PodGroup[],
  room: AllocatableResources,
): AllocatableResources {
  const parts = [
    requestsOf(leader, Math.min(mostOnMachine(leader, room), mostInZone(leader))),
    ...others.map((group) => requestsOf(group, isApart(group) ? 1 : mostInZone(group))),
  ];
  return parts.reduce((sum, each) => ({
    cpuMilli: sum.cpuMilli + each.cpuMilli,
    memoryMiB: sum.memoryMiB + each.memoryMiB,
    pods: sum.pods + each.pods,
    volumes: sum.volumes + each.volumes,
  }));
}

/** Pods of a group that one machine may hold, if no other group has pods there. */
function mostOnMachine(group: PodGroup, room: AllocatableResources): number {
  if (group.together === true) return group.pods.length;
  if (group.separate) return 1;
  const { cpuMilli, memoryMiB, pods, volumes } = requestsOf(group, 1);
  const times = (all: number, each: number): number => (each === 0 ? Infinity : Math.floor(all / each));
  return Math.max(
    1,
    Math.min(
      times(room.cpuMilli, cpuMilli),
      times(room.memoryMiB, memoryMiB),
      times(room.pods, pods),
      times(room.volumes, volumes),
    ),
  );
}

/** Whether no two pods of the group share a machine. */
function isApart({ separate, together = false }: PodGroup): boolean {
  return separate && !together;
}

/** Zones of the group; that of the one machine where the pods are together. */
function zonesOf({ zones, together = false }: PodGroup): readonly string[] {
  return together ? zones.slice(0, 1) : zones;
}

function mostInZone(group: PodGroup): number {
  return Math.ceil(group.pods.length / zonesOf(group).length);
}

function requestsOf({ cpuMilli, memoryMiB, volume }: PodGroup, count: number): AllocatableResources {
  return {
    cpuMilli: cpuMilli * count,
    memoryMiB: memoryMiB * count,
    pods: count,
    volumes: volume === undefined ? 0 : count,
  };
}
