/** Adds a time to the TTLs of a key and of the fields of a hash in an RDB file, without decoding the value. */
import { Failure } from "../../../lib/errors";
import { LengthReader, MISSING } from "../lengths";
import { RdbCorrupt } from "../rdb-corrupt";
import type { RdbKey } from "../rdb-visitor";
import { OPCODE, TYPE } from "../rdb-format";

const TIME_BYTES = 8;
/** Milliseconds since the epoch. JavaScript cannot count later times exactly, so such a TTL stays unchanged. */
const LATEST = BigInt(Number.MAX_SAFE_INTEGER);

/** @throws Failure for types of Redis, which Valkey does not write */
export function hasFieldTtls({ type }: Pick<RdbKey, "type">): boolean {
  if (type >= TYPE.redisHashAbsolute) throw new Failure("TTLs of fields in a file of Redis cannot be moved");
  return type === TYPE.hashFieldTtls;
}

/** @param head bytes before the value: opcodes (one of them has the TTL), type, key. @returns the new ones */
export function shiftKeyTtl(head: Buffer, shiftMs: number): Buffer {
  const lengths = new LengthReader();
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const from = at;
    switch (head[at++]) {
      case OPCODE.expireMs:
        parts.push(timeOpcode(shifted(head.readBigInt64LE(at), shiftMs)));
        at += TIME_BYTES;
        continue;
      case OPCODE.expireSeconds:
        parts.push(timeOpcode(shifted(1000n * BigInt(head.readInt32LE(at)), shiftMs)));
        at += 4;
        continue;
      case OPCODE.frequency:
        at += 1;
        break;
      case OPCODE.idle:
        at = lengths.readPlain(head, at, head.length);
        break;
      default:
        return Buffer.concat([...parts, head.subarray(from)]);
    }
    parts.push(head.subarray(from, at));
  }
}

export function shiftFieldTtls(value: Buffer, shiftMs: number): void {
  const lengths = new LengthReader();
  const checked = (next: number): number => {
    if (next === MISSING || next > value.length) throw new RdbCorrupt("a value ends too early");
    return next;
  };
  let at = checked(lengths.readPlain(value, 0, value.length));
  for (let fields = lengths.length; fields > 0; fields--) {
    for (let part = 0; part < 2; part++) at = checked(lengths.readString(value, at, value.length)) + lengths.length;
    checked(at + TIME_BYTES);
    const time = value.readBigInt64LE(at);
    if (time >= 0n) value.writeBigInt64LE(shifted(time, shiftMs), at);
    at += TIME_BYTES;
  }
}

function timeOpcode(time: bigint): Buffer {
  const bytes = Buffer.alloc(1 + TIME_BYTES);
  bytes[0] = OPCODE.expireMs;
  bytes.writeBigInt64LE(time, 1);
  return bytes;
}

function shifted(time: bigint, shiftMs: number): bigint {
  const later = time + BigInt(shiftMs);
  return later > LATEST ? time : later;
}
