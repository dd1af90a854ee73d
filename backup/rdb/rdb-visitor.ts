import calculateSlot from "cluster-key-slot";
import type { SlotRange } from "../../valkey/topology/slots";
import type { RdbHeader } from "./rdb-format";

/** Calls are synchronous. */
export interface RdbVisitor {
  header?(header: RdbHeader): void;
  aux?(name: Buffer, value: Buffer): void;
  functionLibrary?(code: Buffer): void;
  /**
   * Called if the server was receiving these slots from a different shard. The file then has only some of the slots'
   * keys.
   */
  slotImport?(ranges: readonly SlotRange[]): void;
  moduleAux?(): void;
  key?(key: RdbKey): void;
  /** Called with the bytes of the present key as in the file, in pieces. The first is TTL, type and key. */
  keyBytes?(buffer: Buffer, from: number, to: number): void;
  keyEnd?(end: number): void;
}

export interface RdbSummary {
  readonly header: RdbHeader;
  readonly keys: number;
  readonly bytes: number;
  /** A server with `rdbchecksum no` writes none. */
  readonly hasChecksum: boolean;
}

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
