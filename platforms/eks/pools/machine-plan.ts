/** Machines that each pool needs in each zone, by type. */
import { type Problem, problem } from "../../../lib/errors";
import { groupBy } from "../../../lib/group-by";
import { type MachineType, machineType } from "../offers/machine-types";
import { type AllocatableResources, DAEMON_ADDRESSES, allocatableOn } from "./tuning";
import { type MachineSet, type SetLayout, fits, layoutOf, unitOf } from "./machine-sets";
import type { PodGroup } from "./pod-groups";
import { type PoolArgs, type PoolName, type Pools, POOLS } from "./pools";
import type { PriceTable } from "../offers/prices";

/** Machines of one pool, type and zone. */
export interface MachineGroup {
  readonly pool: PoolName | "system";
  readonly type: string;
  readonly zone: string;
  readonly count: number;
  readonly vcpus: number;
  /** Highest number of addresses that the pods of one machine take. */
  readonly podAddresses: number;
}

/** The cheapest with room for the pods of some groups; without prices, the one with the fewest vCPUs. */
interface Choice {
  readonly name: string;
  readonly type: MachineType;
  readonly room: AllocatableResources;
}

interface GrowingSet {
  readonly choice: Choice;
  readonly instanceType: string | undefined;
  readonly pinsType: boolean;
  /** Whether pods of different owners may share: only if the type is known, on which the number of pods depends. */
  readonly open: boolean;
  groups: readonly PodGroup[];
  layout: SetLayout;
}

interface MachinePlan {
  readonly machines: MachineGroup[];
  readonly sets: MachineSet[];
  readonly notes: string[];
  readonly problems: Problem[];
}

/**
 * Only the pods of a set's groups run on its machines. An owner's groups join the first set that they can safely share,
 * or a new one, or one each if they cannot share.
 * @param prices undefined if there are none
 */
export function planMachines(groups: readonly PodGroup[], pools: Pools, prices: PriceTable | undefined): MachinePlan {
  const notes: string[] = [];
  const problems: Problem[] = [];
  const byPool = POOLS.map((pool) => {
    const members = groups.filter((group) => group.pool === pool && group.pods.length > 0);
    const args = pools[pool];
    if (members.length === 0 || args === undefined) {
      problems.push(...members.slice(0, 1).map(() => missingPool(pool, members)));
      return { pool, sets: [] };
    }
    const planned = new PoolSets(members, args, prices);
    notes.push(...planned.notes);
    if (planned.unfitting.length > 0) problems.push(...roomProblems(pool, args, planned.unfitting));
    return { pool, sets: planned.sets };
  });
  return {
    machines: byPool.flatMap(({ pool, sets }) => machinesOf(pool, sets)),
    sets: byPool.flatMap(({ pool, sets }) => sets.map((set) => finished(pool, set))),
    notes,
    problems,
  };
}

function missingPool(pool: PoolName, members: readonly PodGroup[]): Problem {
  const names = members.map(({ name }) => name).join(", ");
  return problem("no-such-pool", `pools.${pool}`, `the pool is missing, but ${names} must run in it`);
}

const labelOf = ({ label, name }: PodGroup): string => label ?? name;

class PoolSets {
  readonly sets: GrowingSet[] = [];
  readonly notes: string[] = [];
  readonly unfitting: PodGroup[] = [];

  constructor(
    members: readonly PodGroup[],
    private readonly args: PoolArgs,
    private readonly prices: PriceTable | undefined,
  ) {
    const keyOf = ({ owner, instanceType, ...group }: PodGroup): string =>
      `${owner ?? labelOf(group)} ${instanceType ?? ""}`;
    for (const groups of groupBy(members, keyOf).values()) this.#place(groups);
  }

  #place(groups: readonly PodGroup[]): void {
    const [first, ...rest] = groups;
    if (first === undefined || this.#tryToJoin(groups, first) || this.#tryToOpen(groups, first)) return;
    if (rest.length > 0) this.#separate(groups, first);
    else this.unfitting.push(first);
  }

  #tryToJoin(groups: readonly PodGroup[], { instanceType }: PodGroup): boolean {
    for (const set of this.sets) {
      if (!set.open || set.instanceType !== instanceType) continue;
      const joined = [...set.groups, ...groups];
      const layout = layoutOf(joined, set.choice.room);
      if (layout === undefined) continue;
      set.groups = joined;
      set.layout = layout;
      return true;
    }
    return false;
  }

  /** @returns false if no machine type is large enough, or if the groups cannot share machines */
  #tryToOpen(groups: readonly PodGroup[], { instanceType }: PodGroup): boolean {
    const types = instanceType === undefined ? this.args.instanceTypes : [instanceType];
    const choice = chooseType({ ...this.args, instanceTypes: types }, groups, this.prices);
    const layout = choice && layoutOf(groups, choice.room);
    if (choice === undefined || layout === undefined) return false;
    const pinsType = instanceType === undefined && types.length > 1 && layout.fullest > 1;
    this.sets.push({ choice, instanceType, pinsType, open: types.length === 1 || pinsType, groups, layout });
    return true;
  }

  /** Chooses a set of machines for each group separately, because the groups cannot share one set. */
  #separate(groups: readonly PodGroup[], first: PodGroup): void {
    for (const group of groups) this.#place([group]);
    const beside = this.sets.find((set) => set.groups.includes(first))?.groups ?? groups;
    const others = groups.filter((group) => !beside.includes(group));
    if (others.length > 0) this.notes.push(splitNote(first, others));
  }
}

function splitNote(first: PodGroup, others: readonly PodGroup[]): string {
  const names = others.map(({ name }) => name).join(" and ");
  return `${names} and ${first.name} get different machines: on shared machines, some of these pods might find no room, depending on the order in which they are scheduled`;
}

function finished(pool: PoolName, { choice, pinsType, groups, layout }: GrowingSet): MachineSet {
  const named = groups.map((group) => ({ name: group.name, label: labelOf(group) }));
  return {
    name: named[0]?.label ?? "",
    pool,
    type: choice.name,
    pinsType,
    groups: named,
    machines: Object.fromEntries(layout.machines),
  };
}

function machinesOf(pool: PoolName, sets: readonly GrowingSet[]): MachineGroup[] {
  const found = new Map<string, MachineGroup>();
  for (const { choice, layout } of sets) {
    for (const [zone, count] of layout.machines) {
      const key = `${choice.name} ${zone}`;
      const { count: before = 0, podAddresses = 0 } = found.get(key) ?? {};
      found.set(key, {
        pool,
        type: choice.name,
        zone,
        count: before + count,
        vcpus: choice.type.vcpus,
        podAddresses: Math.max(podAddresses, layout.fullest + DAEMON_ADDRESSES),
      });
    }
  }
  return [...found.values()];
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
    return [
      `${name} ${room.cpuMilli}m CPU and ${room.memoryMiB} MiB, for ${room.pods} pods and ${room.volumes} volumes`,
    ];
  });
  // `poolProblems` reports unknown types.
  if (rooms.length === 0) return [];
  const asked = groups
    .map(
      (group) =>
        `${group.name} requests ${unitOf(group).cpuMilli}m CPU and ${unitOf(group).memoryMiB} MiB${group.together === true ? ` for ${group.pods.length} pods on one machine` : ""}`,
    )
    .join("; ");
  const available = `Available on each type, after the pods that run on every machine: ${rooms.join(", ")}`;
  return [problem("no-room", `pools.${pool}.instanceTypes`, `no type has room for every pod: ${asked}. ${available}`)];
}
