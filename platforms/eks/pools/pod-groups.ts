/** Groups of equal pods, by zone. */
import { type PlacedNode, type Shape, nodeCount, spreadOverZones } from "../../../valkey/topology/placement";
import type { PoolName } from "./pools";
import type { StorageClassName } from "../offers/storage-classes";

/** Pods with equal requests, such as a deployment's servers or a benchmark's load generators. */
export interface PodGroup {
  readonly name: string;
  /** Name of the group in labels of machines. It must be a valid label value. @default the value of `name` */
  readonly label?: string | undefined;
  /**
   * Owner of the group. Groups with the same owner share machines with each other before they share machines with other
   * groups.
   * @default the label
   */
  readonly owner?: string | undefined;
  readonly pool: PoolName;
  /** Pods, each with its zone. */
  readonly pods: readonly PlacedNode[];
  /** Zones over which the pods are spread, in the order in which the zones are filled. */
  readonly zones: readonly string[];
  /** CPU request of each pod, thousandths of a CPU. */
  readonly cpuMilli: number;
  /** Memory request of each pod, MiB. */
  readonly memoryMiB: number;
  /** Images of each pod's containers. @default unknown */
  readonly images?: readonly string[] | undefined;
  /** Volume of each pod. @default none */
  readonly volume?: { readonly gib: number; readonly storageClass: StorageClassName } | undefined;
  /**
   * Whether each pod of the group needs a machine without other pods of the group. Pods of other groups may run on the
   * same machine.
   */
  readonly separate: boolean;
  /** Whether all pods share one machine. If true, `separate` has no effect. @default false */
  readonly together?: boolean | undefined;
  /** Machine type, one of the pool's types. @default the cheapest type that is large enough for a pod */
  readonly instanceType?: string | undefined;
}

export interface ServerGroupArgs extends Omit<PodGroup, "pods"> {
  readonly shape: Shape;
}

/** As the scheduler spreads them: roles do not matter, and numbers in any two zones differ by at most 1. */
export function serverPodGroup({ shape, ...group }: ServerGroupArgs): PodGroup {
  const names = Array.from({ length: nodeCount(shape) }, (_, index) => `${group.name}-${index}`);
  return { ...group, pods: spreadOverZones(names, group.zones) };
}

export function clientPodGroup({ count, ...group }: Omit<PodGroup, "pods"> & { readonly count: number }): PodGroup {
  const names = Array.from({ length: count }, (_, index) => `${group.name}-${index}`);
  return { ...group, pods: spreadOverZones(names, group.zones) };
}
