/**
 * Karpenter and the scheduler on the machines of one set, as far as they decide where pods go, in an order of chance:
 * pods come, Karpenter plans machines for those that wait, machines get ready, the scheduler binds, pods are restarted.
 * Wherever the real ones have a choice, this one takes any.
 */
import { fits } from "../../../platforms/eks/pools/machine-sets";
import type { AllocatableResources } from "../../../platforms/eks/pools/tuning";
import type { PodGroup } from "../../../platforms/eks/pools/pod-groups";

interface Machine {
  readonly zone: string;
  ready: boolean;
}

interface Pod {
  readonly group: PodGroup;
  machine: Machine | undefined;
}

/** @returns a number from 0 to below the limit */
type Chance = (limit: number) => number;

export interface SimulationEnd {
  readonly machines: ReadonlyMap<string, number>;
  readonly unplaced: number;
}

/** Rounds without any change after which nothing will change any more. */
const PATIENCE = 200;
const RESTARTS = 5;

/** @param room of one machine @param seed of the order @param later pods of the first group that come after all others are placed */
export function simulateScheduling(
  groups: readonly PodGroup[],
  room: AllocatableResources,
  seed: number,
  later = 0,
): SimulationEnd {
  const chance = chanceOf(seed);
  const pick = <T>(values: readonly T[]): T | undefined => values[chance(values.length)];
  const all = groups.flatMap((group) => group.pods.map((): Pod => ({ group, machine: undefined })));
  const last = all.slice(0, later);
  const coming = shuffled(all.slice(later), chance);
  const pods: Pod[] = [];
  const machines: Machine[] = [];
  let restarts = RESTARTS;
  let idle: number;
  const steps: (() => boolean)[] = [
    () => {
      const come = coming.splice(0, 1 + chance(4));
      pods.push(...come);
      return come.length > 0;
    },
    () => startMachines(pods, machines, room, chance),
    () => {
      const machine = pick(machines.filter(({ ready }) => !ready));
      if (machine !== undefined) machine.ready = true;
      return machine !== undefined;
    },
    () => {
      const pod = pick(pods.filter(({ machine }) => machine === undefined));
      const machine = pod && pick(machines.filter((each) => each.ready && accepts(each, pod, pods, room)));
      if (pod !== undefined) pod.machine = machine;
      return machine !== undefined;
    },
    () => {
      const pod =
        restarts > 0 && chance(10) === 0 ? pick(pods.filter(({ machine }) => machine !== undefined)) : undefined;
      if (pod === undefined) return false;
      restarts--;
      pod.machine = undefined;
      return true;
    },
  ];
  const untilIdle = (): void => {
    for (idle = 0; idle < PATIENCE;) idle = pick(steps)?.() === true ? 0 : idle + 1;
  };
  untilIdle();
  coming.push(...last);
  untilIdle();
  const found = new Map<string, number>();
  for (const { zone } of machines) found.set(zone, (found.get(zone) ?? 0) + 1);
  return { machines: found, unplaced: coming.length + pods.filter(({ machine }) => machine === undefined).length };
}

/** Simulation of Karpenter: it tries the waiting pods on the machines there are, and starts machines for the others. */
function startMachines(pods: readonly Pod[], machines: Machine[], room: AllocatableResources, chance: Chance): boolean {
  const before = machines.length;
  const tried = pods.map(({ group, machine }): Pod => ({ group, machine }));
  for (const pod of shuffled(
    tried.filter(({ machine }) => machine === undefined),
    chance,
  )) {
    const { zones } = pod.group;
    // A preference is a requirement until it cannot be met: the zones in turn, then any of them.
    for (const wanted of [...zones.slice(0, -1).map((zone) => [zone]), zones]) {
      const open = machines
        .filter(({ zone }) => wanted.includes(zone))
        .filter((machine) => accepts(machine, pod, tried, room));
      const started = wanted.map((zone): Machine => ({ zone, ready: false }));
      const choices = open.length > 0 ? open : started.filter((machine) => accepts(machine, pod, tried, room));
      const chosen = choices[chance(choices.length)];
      if (chosen === undefined) continue;
      if (open.length === 0) machines.push(chosen);
      pod.machine = chosen;
      break;
    }
  }
  return machines.length > before;
}

function accepts(machine: Machine, { group }: Pod, pods: readonly Pod[], room: AllocatableResources): boolean {
  const { zones, separate, together = false } = group;
  const placed = pods.filter((pod) => pod.machine !== undefined);
  const own = placed.filter((pod) => pod.group === group);
  const inZone = zones.map((zone) => own.filter((pod) => pod.machine?.zone === zone).length);
  const there = inZone[zones.indexOf(machine.zone)];
  if (there === undefined || there + 1 - Math.min(...inZone) > 1) return false;
  const beside = own.filter((pod) => pod.machine === machine).length;
  if (together ? own.length > beside : separate && beside > 0) return false;
  const sum = { cpuMilli: group.cpuMilli, memoryMiB: group.memoryMiB, pods: 1, volumes: group.volume ? 1 : 0 };
  for (const pod of placed) {
    if (pod.machine !== machine) continue;
    sum.cpuMilli += pod.group.cpuMilli;
    sum.memoryMiB += pod.group.memoryMiB;
    sum.pods++;
    sum.volumes += pod.group.volume ? 1 : 0;
  }
  return fits(sum, room);
}

function shuffled<T>(values: readonly T[], chance: Chance): T[] {
  const rest = [...values];
  return values.flatMap(() => rest.splice(chance(rest.length), 1));
}

/** mulberry32 */
function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}
