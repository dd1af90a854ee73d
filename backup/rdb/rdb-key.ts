import calculateSlot from "cluster-key-slot";

export class RdbKey {
  constructor(
    readonly key: Buffer,
    readonly database: number,
    /** Type of the key's value, a number of `TYPE`. */
    readonly type: number,
    /** Time at which the key expires, milliseconds since the epoch. Undefined for a key without a TTL. */
    readonly expiresAt: number | undefined,
    /** Seconds since the last access to the key. Only files of servers with an LRU `maxmemory-policy` have it. */
    readonly idleSeconds: number | undefined,
    /** Frequency of accesses to the key, 0 to 255. Only files of servers with an LFU `maxmemory-policy` have it. */
    readonly frequency: number | undefined,
    /** TTL, type and key come before the value. */
    readonly offset: number,
    readonly valueOffset: number,
  ) {}

  /** Keys have a slot in replication mode too: the slot that they would have in a cluster. */
  get slot(): number {
    return calculateSlot(this.key);
  }
}
