/** Groups of equal pods, by zone. Pure. */
import type { PlacedNode, Shape } from "../../../valkey/topology/placement";
import { nodeCount, spreadOverZones } from "../../../valkey/topology/placement";
import type { PoolName } from "./pools";
import type { StorageClassName } from "../offers/storage-classes";

/** Pods with equal requests, such as a deployment's servers or a benchmark's load generators. */
export interface PodGroup {
  readonly name: string;
  /** Name of the group in labels of machines: a valid label. @default the name */
  readonly label?: string | undefined;
  /** Groups of one owner share machines with each other rather than with those of another. @default the label */
  readonly owner?: string | undefined;
  readonly pool: PoolName;
  /** Each pod and its zone. */
  readonly pods: readonly PlacedNode[];
  /** Zones that the pods are spread over, in the order in which they are filled. */
  readonly zones: readonly string[];
  /** Requests: thousandths of a CPU, and MiB. */
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  /** Images of each pod's containers. @default none that is known */
  readonly images?: readonly string[] | undefined;
  /** Volume of each pod. @default none */
  readonly volume?: { readonly gib: number; readonly storageClass: StorageClassName } | undefined;
  /** Whether no two pods of the group share a machine. Pods of other groups may share it. */
  readonly separate: boolean;
  /** Whether all pods share one machine, regardless of `separate`. @default false */
  readonly together?: boolean | undefined;
  /** One of the pool's types. @default the cheapest type with room for a pod */
  readonly instanceType?: string | undefined;
}

/** The servers of a deployment. */
export interface ServerGroupArgs extends Omit<PodGroup, "pods"> {
  readonly shape: Shape;
}

/** Servers spread as the scheduler spreads them, without regard to roles: zones differ by one pod at most. */
export function serverPodGroup({ shape, ...group }: ServerGroupArgs): PodGroup {
  const names = Array.from({ length: nodeCount(shape) }, (_, index) => `${group.name}-${index}`);
  return { ...group, pods: spreadOverZones(names, group.zones) };
}

/** Load generators, spread over the zones in turn. */
export function clientPodGroup({ count, ...group }: Omit<PodGroup, "pods"> & { readonly count: number }): PodGroup {
  const names = Array.from({ length: count }, (_, index) => `${group.name}-${index}`);
  return { ...group, pods: spreadOverZones(names, group.zones) };
}
