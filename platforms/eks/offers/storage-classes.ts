/** The storage classes: encrypted gp3 volumes at two speeds. */

/** Speed of a gp3 volume. */
export interface VolumeSpeed {
  /** I/O operations per second. */
  readonly iops: number;
  /** Throughput, MiB/s. */
  readonly throughput: number;
}

/** Speed that every gp3 volume has without extra charge. */
export const GP3_BASELINE: VolumeSpeed = { iops: 3000, throughput: 125 };

/**
 * Storage classes by name. `gp3` is the cluster's default class. The published document "Valkey on EKS" uses `gp3-fast`
 * for larger shards.
 */
export const STORAGE_CLASSES = {
  gp3: GP3_BASELINE,
  "gp3-fast": { iops: 6000, throughput: 500 },
} as const satisfies Readonly<Record<string, VolumeSpeed>>;

export type StorageClassName = keyof typeof STORAGE_CLASSES;
export const STORAGE_CLASS_NAMES = Object.keys(STORAGE_CLASSES) as StorageClassName[];
export const DEFAULT_STORAGE_CLASS: StorageClassName = "gp3";
