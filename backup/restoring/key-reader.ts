import { sealDump, startDump } from "../rdb/dump";
import { shifted } from "../rdb/comparing/walk-values";
import type { RdbKey } from "../rdb/rdb-visitor";
import { hasFieldTtls, shiftFieldTtls } from "../rdb/splitting/shift-ttl";
import type { SlotRange } from "../../valkey/topology/slots";
import type { ByteSource } from "../rdb/walk";

export interface ReplaySource {
  readonly name: string;
  /** Wanted keys of other slots are an error. */
  readonly ranges: readonly SlotRange[];
  readonly open: () => ByteSource;
  /** Whole milliseconds that are added to the expiry time of each key and each hash field. */
  readonly shiftMs: number;
}

export interface NamedKey {
  readonly database: number;
  readonly key: Buffer;
}

export interface CopiedKey extends NamedKey {
  readonly slot: number;
  readonly type: number;
  readonly archived: Buffer;
  readonly shiftMs: number;
  readonly expiresAt: number | undefined;
  readonly dump: Buffer;
}

export class KeyReader {
  #current: RdbKey | undefined;
  #pieces: Buffer[] = [];
  /** Number of bytes of TTL, type and key that still come before the value of the current key. */
  #before = 0;
  #keys: CopiedKey[] = [];

  constructor(
    private readonly isWanted: (key: RdbKey) => boolean,
    private readonly shiftMs: number,
  ) {}

  key(key: RdbKey): void {
    this.#current = this.isWanted(key) ? key : undefined;
    this.#pieces = [];
    this.#before = key.valueOffset - key.offset;
  }

  keyBytes(buffer: Buffer, from: number, to: number): void {
    if (this.#current === undefined) return;
    // The beginning of a key comes in one piece.
    if (this.#before > 0) this.#before -= to - from;
    else this.#pieces.push(buffer.subarray(from, to));
  }

  keyEnd(): void {
    const key = this.#current;
    if (key === undefined) return;
    const { payload, value } = startDump(key.type, this.#pieces);
    const movesFields = this.shiftMs !== 0 && hasFieldTtls(key);
    // Without a change, the payload has the archived value, so no second copy is in memory.
    const archived = movesFields ? Buffer.from(value) : value;
    if (movesFields) shiftFieldTtls(value, this.shiftMs);
    this.#keys.push({
      database: key.database,
      key: Buffer.from(key.key),
      slot: key.slot,
      type: key.type,
      archived,
      shiftMs: this.shiftMs,
      expiresAt: shifted(key.expiresAt, this.shiftMs),
      dump: sealDump(payload),
    });
  }

  take(): CopiedKey[] {
    const keys = this.#keys;
    this.#keys = [];
    return keys;
  }
}
