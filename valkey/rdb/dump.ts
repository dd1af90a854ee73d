/**
 * Encodes and decodes payloads of the commands DUMP and RESTORE: type, value, version of the RDB format, checksum.
 * Pure.
 */
import { Crc64 } from "./crc64";
import { decodeValue } from "./decode";
import { RdbCorrupt } from "./rdb-corrupt";
import { TYPE, byteOf, typeOf } from "./rdb-format";
import type { Value } from "./value";

const VERSION_BYTES = 2;
const FOOTER_BYTES = VERSION_BYTES + 8;
/**
 * Oldest RDB version with all types of values except hashes whose fields have TTLs. A server refuses a payload whose
 * version is newer than its own.
 */
const USUAL_VERSION = 11;
const FIELD_TTLS_VERSION = 80;

/**
 * Encodes a payload for RESTORE.
 * @param type a number of `TYPE` that Valkey writes
 * @param value the value as in an RDB file
 */
export function encodeDump(type: number, value: Buffer): Buffer {
  const payload = Buffer.allocUnsafe(1 + value.length + FOOTER_BYTES);
  payload[0] = byteOf(type);
  value.copy(payload, 1);
  const end = 1 + value.length;
  payload.writeUInt16LE(type === TYPE.hashFieldTtls ? FIELD_TTLS_VERSION : USUAL_VERSION, end);
  const crc = new Crc64();
  crc.update(payload, 0, end + VERSION_BYTES);
  crc.digest().copy(payload, end + VERSION_BYTES);
  return payload;
}

/** Decodes the value in a reply to DUMP. @throws RdbCorrupt if the value cannot be decoded */
export function decodeDump(payload: Buffer): Value {
  const end = payload.length - FOOTER_BYTES;
  if (end < 1) throw new RdbCorrupt("a reply to DUMP is too short");
  const version = payload.readUInt16LE(end);
  const isRedis = version > USUAL_VERSION && version < FIELD_TTLS_VERSION;
  return decodeValue(typeOf(payload[0] ?? 0, isRedis), payload.subarray(1, end));
}
