import { decodeValue } from "../decode";
import type { RdbKey } from "../rdb-visitor";
import type { Value } from "../value";
import { type HashScope, hashValue } from "./value-hash";
import { type ByteSource, walkRdb } from "../walk";

export interface ValueRules {
  readonly scope?: HashScope | undefined;
  /** Milliseconds since the epoch. What expires by then is left out: servers remove it at any time. */
  readonly expiredBy?: number | undefined;
}

interface ValueVisitor {
  /** Milliseconds that are added to each TTL of keys and fields. @default 0 */
  readonly shiftMs?: number | undefined;
  readonly isWanted?: ((key: RdbKey) => boolean) | undefined;
  functionLibrary?(code: Buffer): void;
  expired?(key: RdbKey): void;
  value(key: RdbKey, expiresAt: number | undefined, hash: Buffer): void;
}

const EMPTY = Buffer.alloc(0);

export async function walkValues(
  source: ByteSource,
  { scope = "all", expiredBy = -Infinity }: ValueRules,
  visitor: ValueVisitor,
): Promise<void> {
  const { shiftMs = 0 } = visitor;
  let current: RdbKey | undefined;
  let pieces: Buffer[] = [];
  /** Number of bytes of TTL, type and key that have not arrived yet. The value follows them. */
  let before = 0;
  await walkRdb(source, {
    functionLibrary: (code) => visitor.functionLibrary?.(code),
    key: (key) => {
      current = undefined;
      if (visitor.isWanted?.(key) === false) return;
      if ((shifted(key.expiresAt, shiftMs) ?? Infinity) <= expiredBy) {
        visitor.expired?.(key);
        return;
      }
      current = key;
      pieces = [];
      before = key.valueOffset - key.offset;
    },
    keyBytes: (buffer, from, to) => {
      if (current === undefined) return;
      // The beginning of a key comes in one piece.
      if (before > 0) before -= to - from;
      else pieces.push(buffer.subarray(from, to));
    },
    keyEnd: () => {
      if (current === undefined) return;
      const bytes = pieces.length === 1 ? (pieces[0] ?? EMPTY) : Buffer.concat(pieces);
      const value = unexpiredPart(decodeValue(current.type, bytes), shiftMs, expiredBy);
      if (value === undefined) visitor.expired?.(current);
      else visitor.value(current, shifted(current.expiresAt, shiftMs), hashValue(value, scope));
    },
  });
}

/** Undefined for a hash whose fields have all expired, because a server removes such a key. */
export function unexpiredPart(value: Value, shiftMs: number, expiredBy: number): Value | undefined {
  if (value.kind !== "hash") return value;
  const fields = value.fields
    .map((field) => (shiftMs === 0 ? field : { ...field, expiresAt: shifted(field.expiresAt, shiftMs) }))
    .filter(({ expiresAt = Infinity }) => expiresAt > expiredBy);
  return fields.length === 0 && value.fields.length > 0 ? undefined : { ...value, fields };
}

/** If JavaScript cannot count the result exactly, the time stays unchanged, as in the files of a restore. */
export function shifted(expiresAt: number | undefined, shiftMs: number): number | undefined {
  if (expiresAt === undefined || expiresAt + shiftMs > Number.MAX_SAFE_INTEGER) return expiresAt;
  return expiresAt + shiftMs;
}
