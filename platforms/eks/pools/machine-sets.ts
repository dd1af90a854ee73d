/**
 * Sets of machines. A set decides which pods share machines, so that Karpenter starts exactly the machines to which the
 * scheduler binds the pods. Pure.
 *
 * Karpenter plans machines for pods that wait. The scheduler then binds these pods independently of that plan: in any
 * order, and to any machine that is ready. Karpenter plans again for pods that are left. If the scheduler finds a
 * different arrangement than Karpenter, a pod may be left over. Then Karpenter starts one more machine, or finds that
 * no machine would help. To avoid this, each pod names the set of its machines (`machineSetSelector`), and Karpenter
 * labels every machine with one set. A set contains only groups that need the same machines in every order of binding.
 *
 * Every group of n pods is spread over its Z zones with a skew of 1: a zone has between ⌊n/Z⌋ and ⌈n/Z⌉ pods. One
 * machine holds at most k pods of the group. k is 1 if its pods must be apart, n if they must be together, and
 * otherwise as many as fit.
 *
 * **One group.** A zone gets one more machine only when each of its machines holds k pods, so it has ⌈pods/k⌉ machines.
 * With the machines that Karpenter has planned for some spread of the pods, no pod is left over, in any order of
 * binding:
 * - While some zone has fewer than ⌊n/Z⌋ pods, the zone with the fewest pods can take the next pod. Its machines have
 *   room, and the skew allows the pod.
 * - When every zone has ⌊n/Z⌋ pods, each further pod can go to a zone for which Karpenter has planned ⌈n/Z⌉ pods.
 *
 * A different spread has its ⌈n/Z⌉ pods in different zones. This changes the places of the machines, but not their
 * number. Pods prefer the first zones, as far as the spread allows, so that Karpenter starts the machines in the
 * planned zones.
 *
 * **Several groups** share a set if one of them is its leader. Three conditions must hold:
 * 1. The leader has pods in every zone (⌊n/Z⌋ ≥ 1), and no other group has further zones.
 * 2. One machine has room for k pods of the leader together with the most pods that each other group may have there: 1
 *    if its pods must be apart, n if they must be together, otherwise ⌈n/Z⌉.
 * 3. A group whose pods must be apart has at most as many pods in a zone, ⌈n/Z⌉, as the leader has machines in every
 *    zone, which is ⌈⌊n/Z⌋/k⌉ with the leader's n and k.
 *
 * By condition 2 a machine refuses a pod of the leader only if it holds k of them. It refuses a pod of another group
 * only if that group's pods must be apart and the machine already holds one. So the leader's pods need the same
 * machines as if they were the only pods. By condition 3 no other group needs more machines than these, in any order.
 * Once the leader's machines exist, no pod of another group is left over: by conditions 1 and 3 each zone has a machine
 * for each pod that it may get.
 */
import { groupByZone } from "../../../valkey/topology/placement";
import type { AllocatableResources } from "./tuning";
import type { PodGroup } from "./pod-groups";
import { type PoolName, machineSetSelector } from "./pools";

const INSTANCE_TYPE = "node.kubernetes.io/instance-type";

/** Machines of one set. All machines are of the same type, and only the pods of `groups` run on them. */
export interface MachineSet {
  /**
   * Name of the set. It is the label of the first group, so pods do not change when later deployments in the
   * configuration change.
   */
  readonly name: string;
  readonly pool: PoolName;
  readonly type: string;
  /**
   * Whether pods must select the machine type. Pods must select the type if the pool has several types and a machine
   * must have room for several pods.
   */
  readonly pinsType: boolean;
  /** Names and labels of the groups, in the order of the configuration. */
  readonly groups: readonly { readonly name: string; readonly label: string }[];
  /** Number of machines by zone. */
  readonly machines: Readonly<Record<string, number>>;
}

export interface SetLayout {
  readonly machines: ReadonlyMap<string, number>;
  readonly fullest: number;
}

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

/** For all pods if they must be together, otherwise for one. */
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

/** @param room resources of one machine @returns undefined if the number depends on the order of binding */
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

/** Number of pods of a group that fit on one machine without pods of other groups: k at the top of this file. */
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

function isApart({ separate, together = false }: PodGroup): boolean {
  return separate && !together;
}

/** If all pods of the group must be on one machine, the result is only the zone of this machine. */
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
