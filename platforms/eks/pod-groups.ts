/** What is to run: groups of pods alike, by zone. Pure. */
import type { PlacedNode, Shape } from "../../valkey/topology/placement";
import { nodeCount, spreadOverZones } from "../../valkey/topology/placement";
import type { PoolName } from "./pools";
import type { StorageClassName } from "./storage-classes";

/** Pods that ask for the same, such as a deployment's servers or a benchmark's load generators. */
export interface PodGroup {
  readonly name: string;
  readonly pool: PoolName;
  /** Each pod and the zone it is to be in. */
  readonly pods: readonly PlacedNode[];
  /** Requests: thousandths of a CPU, and MiB. */
  readonly cpuMilli: number;
  readonly memoryMiB: number;
  /** Each pod's own volume; none without. */
  readonly volume?: { readonly gib: number; readonly storageClass: StorageClassName } | undefined;
  /** Whether no two of the group share a machine; pods of other groups may, where they fit. */
  readonly separate: boolean;
  /** Whether all of them are on one machine, whatever `alone` says. @default false */
  readonly together?: boolean | undefined;
  /** One of the pool's types. @default whichever fits all groups that leave it open, at the least price */
  readonly instanceType?: string | undefined;
}

/** A deployment's servers, as far as machines are concerned. */
export interface ServerGroupArgs extends Omit<PodGroup, "pods"> {
  readonly shape: Shape;
  /** In the order in which they are filled. */
  readonly zones: readonly string[];
}

/** Servers over the zones as the scheduler is held to spread them, which knows nothing of primaries: zones differ by one pod at most. */
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
