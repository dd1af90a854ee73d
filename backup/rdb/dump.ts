/** Encodes and decodes payloads of the commands DUMP and RESTORE: type, value, version of the RDB format, checksum. */
import { Crc64 } from "./crc64";
import { decodeValue } from "./decode";
import { RdbCorrupt } from "./rdb-corrupt";
import { TYPE, byteOf, typeOf } from "./rdb-format";
import type { Value } from "./value";

const VERSION_BYTES = 2;
const FOOTER_BYTES = VERSION_BYTES + 8;
/** Oldest version with all types but hashes whose fields have TTLs. A server refuses payloads newer than its own. */
const USUAL_VERSION = 11;
const FIELD_TTLS_VERSION = 80;

/** The value can be changed in place before `sealDump`. @param type a number of `TYPE` that Valkey writes */
export function startDump(
  type: number,
  pieces: readonly Buffer[],
): { readonly payload: Buffer; readonly value: Buffer } {
  const end = pieces.reduce((sum, { length }) => sum + length, 1);
  const payload = Buffer.allocUnsafe(end + FOOTER_BYTES);
  payload[0] = byteOf(type);
  let at = 1;
  for (const piece of pieces) at += piece.copy(payload, at);
  payload.writeUInt16LE(type === TYPE.hashFieldTtls ? FIELD_TTLS_VERSION : USUAL_VERSION, end);
  return { payload, value: payload.subarray(1, end) };
}

export function sealDump(payload: Buffer): Buffer {
  const end = payload.length - FOOTER_BYTES + VERSION_BYTES;
  const crc = new Crc64();
  crc.update(payload, 0, end);
  crc.digest().copy(payload, end);
  return payload;
}

/** @throws RdbCorrupt if the value cannot be decoded */
export function decodeDump(payload: Buffer): Value {
  const end = payload.length - FOOTER_BYTES;
  if (end < 1) throw new RdbCorrupt("a reply to DUMP is too short");
  const version = payload.readUInt16LE(end);
  const isRedis = version > USUAL_VERSION && version < FIELD_TTLS_VERSION;
  return decodeValue(typeOf(payload[0] ?? 0, isRedis), payload.subarray(1, end));
}
