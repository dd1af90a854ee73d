import calculateSlot from "cluster-key-slot";

/** One key of an RDB file: what the file says before the value. */
export class RdbKey {
  constructor(
    readonly key: Buffer,
    readonly database: number,
    /** A value of `TYPE`. */
    readonly type: number,
    /** Time at which the key expires, milliseconds since the epoch. Undefined for a key without a TTL. */
    readonly expiresAt: number | undefined,
    /** Seconds without an access, if the file has them (`maxmemory-policy` with LRU). */
    readonly idleSeconds: number | undefined,
    /** Frequency of accesses, 0 to 255, if the file has it (`maxmemory-policy` with LFU). */
    readonly frequency: number | undefined,
    /** Position of the key's first byte in the file. TTL, type and key are before the value. */
    readonly offset: number,
    /** Position of the value. */
    readonly valueOffset: number,
  ) {}

  /** The hash slot of the key. Keys have a slot in replication mode too: the slot that they would have in a cluster. */
  get slot(): number {
    return calculateSlot(this.key);
  }
}
