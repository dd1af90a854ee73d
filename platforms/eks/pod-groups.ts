/** Groups of equal pods, by zone. Pure. */
import type { PlacedNode, Shape } from "../../valkey/topology/placement";
import { nodeCount, spreadOverZones } from "../../valkey/topology/placement";
import type { PoolName } from "./pools";
import type { StorageClassName } from "./storage-classes";

/** Pods with equal requests, such as a deployment's servers or a benchmark's load generators. */
export interface PodGroup {
  readonly name: string;
  readonly pool: PoolName;
  /** Each pod and its zone. */
  readonly pods: readonly PlacedNode[];
  /** Requests: thousandths of a CPU, and MiB. */
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  /** Volume of each pod. @default none */
  readonly volume?: { readonly gib: number; readonly storageClass: StorageClassName } | undefined;
  /** Whether no two pods of the group share a machine. Pods of other groups may share it. */
  readonly separate: boolean;
  /** Whether all pods share one machine, regardless of `separate`. @default false */
  readonly together?: boolean | undefined;
  /** One of the pool's types. @default the cheapest type that fits all groups without a type */
  readonly instanceType?: string | undefined;
}

/** The servers of a deployment. */
export interface ServerGroupArgs extends Omit<PodGroup, "pods"> {
  readonly shape: Shape;
  /** In the order in which nodes are placed. */
  readonly zones: readonly string[];
}

/** Servers spread as the scheduler spreads them, without regard to roles: zones differ by one pod at most. */
export function serverPodGroup({ shape, zones, ...group }: ServerGroupArgs): PodGroup {
  const names = Array.from({ length: nodeCount(shape) }, (_, index) => `${group.name}-${index}`);
  return { ...group, pods: spreadOverZones(names, zones) };
}

/** Load generators, spread over the zones in turn. */
export function clientPodGroup({
  count,
  zones,
  ...group
}: Omit<PodGroup, "pods"> & { readonly count: number; readonly zones: readonly string[] }): PodGroup {
  return {
    ...group,
    pods: spreadOverZones(
      Array.from({ length: count }, (_, index) => `${group.name}-${index}`),
      zones,
    ),
  };
}
