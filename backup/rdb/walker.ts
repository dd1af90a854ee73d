/** Holds one piece and the beginning of one key in memory, never a value. */
import { type SlotRange, SLOT_COUNT } from "../../valkey/topology/slots";
import { Crc64 } from "./crc64";
import { RdbCursor } from "./cursor";
import { LengthReader, MISSING } from "./lengths";
import { RdbCorrupt } from "./rdb-corrupt";
import type { Layout, RdbHeader } from "./rdb-format";
import { CHECKSUM_SINCE, HEADER_BYTES, OPCODE, layoutOf, parseHeader, typeOf } from "./rdb-format";
import { type RdbSummary, type RdbVisitor, RdbKey } from "./rdb-visitor";
import { ValueSkipper } from "./value-skipper";

const CHECKSUM_BYTES = 8;
const NO_CHECKSUM = Buffer.alloc(CHECKSUM_BYTES);
/** Highest number of bytes of a key that a server accepts with default settings (`proto-max-bulk-len`). */
const MAX_STRING_BYTES = 512 * 1024 ** 2;
/** The module's ID, an opcode and a number that say when the data were written, and the data. */
const MODULE_AUX: Layout = [{ kind: "length" }, { kind: "length" }, { kind: "length" }, { kind: "module" }];

export class RdbWalker {
  readonly #visitor: RdbVisitor;
  readonly #crc = new Crc64();
  readonly #lengths = new LengthReader();
  readonly #skipper = new ValueSkipper();
  #state: "header" | "record" | "value" | "checksum" | "end" = "header";
  #header: RdbHeader | undefined;
  #hasChecksum = false;
  #database = 0;
  #keys = 0;
  /** Whether the value that is being skipped belongs to a key. If not, it is data of a module. */
  #isKey = false;
  /** Whether the checksum already includes all bytes that it must cover. */
  #isSummed = false;
  #pieces: Buffer[] = [];
  #waiting = 0;
  /** Number of unread bytes at which the next attempt to read begins. */
  #wanted = HEADER_BYTES;
  #base = 0;

  constructor(visitor: RdbVisitor) {
    this.#visitor = visitor;
  }

  /** Keeps a part of the piece, so its bytes must not change later. @throws RdbCorrupt, with the position */
  push(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#waiting += piece.length;
    if (this.#waiting < this.#wanted) return;
    const buffer = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    const at = this.#walk(buffer);
    this.#base += at;
    this.#waiting = buffer.length - at;
    this.#pieces = this.#waiting === 0 ? [] : [buffer.subarray(at)];
    this.#wanted = Math.max(this.#wanted, this.#waiting + 1);
  }

  finish(): RdbSummary {
    if (this.#state !== "end" || this.#header === undefined)
      throw new RdbCorrupt("the file ends too early", this.#base + this.#waiting);
    return { header: this.#header, keys: this.#keys, bytes: this.#base, hasChecksum: this.#hasChecksum };
  }

  #walk(buffer: Buffer): number {
    let at = 0;
    this.#wanted = 0;
    try {
      for (;;) {
        const next = this.#step(buffer, at);
        if (next === MISSING) break;
        at = next;
      }
    } catch (error) {
      // A visitor's own errors have no position.
      if (!(error instanceof RdbCorrupt) || error.offset !== undefined) throw error;
      throw new RdbCorrupt(error.problem, this.#base + at);
    }
    // A value that has begun was skipped up to here.
    if (this.#state === "value") at = this.#skipper.at;
    if (!this.#isSummed) this.#crc.update(buffer, 0, at);
    return at;
  }

  #step(buffer: Buffer, at: number): number {
    switch (this.#state) {
      case "record":
        return this.#readRecord(buffer, at);
      case "value":
        return this.#skipValue(buffer, at);
      case "header":
        return this.#readHeader(buffer, at);
      case "checksum":
        return this.#readChecksum(buffer, at);
      case "end":
        if (at < buffer.length) throw new RdbCorrupt("bytes follow the end of the file");
        return MISSING;
    }
  }

  #readHeader(buffer: Buffer, at: number): number {
    if (buffer.length < at + HEADER_BYTES) return this.#wait(HEADER_BYTES);
    this.#header = parseHeader(buffer.subarray(at, at + HEADER_BYTES));
    this.#visitor.header?.(this.#header);
    this.#state = "record";
    return at + HEADER_BYTES;
  }

  #readRecord(buffer: Buffer, start: number): number {
    let expiresAt: number | undefined;
    let idleSeconds: number | undefined;
    let frequency: number | undefined;
    const end = buffer.length;
    for (let at = start; ;) {
      if (at >= end) return MISSING;
      const byte = buffer[at++] ?? 0;
      switch (byte) {
        case OPCODE.expireMs:
          if (at + 8 > end) return MISSING;
          expiresAt = buffer.readUInt32LE(at) + buffer.readInt32LE(at + 4) * 2 ** 32;
          at += 8;
          continue;
        case OPCODE.expireSeconds:
          if (at + 4 > end) return MISSING;
          expiresAt = buffer.readInt32LE(at) * 1000;
          at += 4;
          continue;
        case OPCODE.frequency:
          if (at >= end) return MISSING;
          frequency = buffer[at++];
          continue;
        case OPCODE.idle:
          at = this.#lengths.readPlain(buffer, at, end);
          if (at === MISSING) return MISSING;
          idleSeconds = this.#lengths.length;
          continue;
      }
      // The opcodes above precede a key, so that no other opcode can follow them.
      const isKey = byte < OPCODE.slotImport;
      if (!isKey && (expiresAt ?? idleSeconds ?? frequency) !== undefined)
        throw new RdbCorrupt(`opcode ${byte} is between the TTL of a key and the key`);
      if (!isKey) return this.#readOpcode(byte, buffer, at);
      const type = typeOf(byte, this.#header?.magic === "REDIS");
      const layout = layoutOf(type);
      const valueAt = this.#endOfString(buffer, start, at);
      if (valueAt === MISSING) return MISSING;
      const key = new RdbCursor(buffer, at, valueAt).string();
      const [offset, valueOffset] = [this.#base + start, this.#base + valueAt];
      this.#visitor.key?.(
        new RdbKey(key, this.#database, type, expiresAt, idleSeconds, frequency, offset, valueOffset),
      );
      this.#visitor.keyBytes?.(buffer, start, valueAt);
      this.#beginValue(layout, true);
      return valueAt;
    }
  }

  #skipValue(buffer: Buffer, at: number): number {
    const isComplete = this.#skipper.skip(buffer, at, buffer.length);
    const next = this.#skipper.at;
    if (this.#isKey && next > at) this.#visitor.keyBytes?.(buffer, at, next);
    if (!isComplete) return MISSING;
    this.#state = "record";
    if (!this.#isKey) return next;
    this.#keys++;
    this.#visitor.keyEnd?.(this.#base + next);
    return next;
  }

  #readOpcode(opcode: number, buffer: Buffer, at: number): number {
    switch (opcode) {
      case OPCODE.selectDatabase: {
        const next = this.#endOfLengths(buffer, at, 1);
        if (next !== MISSING) this.#database = this.#lengths.length;
        return next;
      }
      case OPCODE.resizeDatabase:
        return this.#endOfLengths(buffer, at, 2);
      case OPCODE.slotInfo:
        return this.#endOfLengths(buffer, at, 3);
      case OPCODE.aux:
        return this.#readAux(buffer, at);
      case OPCODE.function: {
        const next = this.#endOfString(buffer, at - 1, at);
        if (next !== MISSING) this.#visitor.functionLibrary?.(new RdbCursor(buffer, at, next).string());
        return next;
      }
      case OPCODE.slotImport:
        return this.#readSlotImport(buffer, at);
      case OPCODE.moduleAux:
        this.#visitor.moduleAux?.();
        this.#beginValue(MODULE_AUX, false);
        return at;
      case OPCODE.end:
        return this.#readEnd(buffer, at);
      default:
        throw new RdbCorrupt(`opcode ${opcode} cannot be read`);
    }
  }

  #beginValue(layout: Layout, isKey: boolean): void {
    this.#skipper.begin(layout);
    this.#isKey = isKey;
    this.#state = "value";
  }

  #readAux(buffer: Buffer, at: number): number {
    const nameEnd = this.#endOfString(buffer, at - 1, at);
    const next = nameEnd === MISSING ? MISSING : this.#endOfString(buffer, at - 1, nameEnd);
    if (next === MISSING || this.#visitor.aux === undefined) return next;
    const cursor = new RdbCursor(buffer, at, next);
    this.#visitor.aux(cursor.string(), cursor.string());
    return next;
  }

  #readSlotImport(buffer: Buffer, at: number): number {
    const nameEnd = this.#endOfString(buffer, at - 1, at);
    let next = nameEnd === MISSING ? MISSING : this.#endOfLengths(buffer, nameEnd, 1);
    if (next === MISSING) return MISSING;
    const ranges: SlotRange[] = [];
    for (let rest = this.#lengths.length; rest > 0; rest--) {
      next = this.#endOfLengths(buffer, next, 1);
      const from = this.#lengths.length;
      next = next === MISSING ? MISSING : this.#endOfLengths(buffer, next, 1);
      if (next === MISSING) return MISSING;
      const to = this.#lengths.length;
      if (from > to || to >= SLOT_COUNT) throw new RdbCorrupt(`slots ${from} to ${to} do not exist`);
      ranges.push({ from, to });
    }
    this.#visitor.slotImport?.(ranges);
    return next;
  }

  #readEnd(buffer: Buffer, at: number): number {
    this.#crc.update(buffer, 0, at);
    this.#isSummed = true;
    this.#hasChecksum = (this.#header?.version ?? 0) >= CHECKSUM_SINCE;
    this.#state = this.#hasChecksum ? "checksum" : "end";
    return at;
  }

  #readChecksum(buffer: Buffer, at: number): number {
    const next = at + CHECKSUM_BYTES;
    if (buffer.length < next) return MISSING;
    const written = buffer.subarray(at, next);
    this.#hasChecksum = !written.equals(NO_CHECKSUM);
    if (this.#hasChecksum && !written.equals(this.#crc.digest())) throw new RdbCorrupt("the checksum is wrong");
    this.#state = "end";
    return next;
  }

  /** The last length is then in `#lengths`. @returns the position after it */
  #endOfLengths(buffer: Buffer, at: number, count: number): number {
    let next = at;
    for (let rest = count; rest > 0 && next !== MISSING; rest--)
      next = this.#lengths.readPlain(buffer, next, buffer.length);
    return next;
  }

  /** `MISSING` if it has not arrived as a whole. @param start first byte that the next attempt needs */
  #endOfString(buffer: Buffer, start: number, at: number): number {
    const from = this.#lengths.readString(buffer, at, buffer.length);
    if (from === MISSING) return MISSING;
    const next = from + this.#lengths.length;
    if (next <= buffer.length) return next;
    if (this.#lengths.length > MAX_STRING_BYTES)
      throw new RdbCorrupt(`a key or a library of ${this.#lengths.length} bytes is longer than a server accepts`);
    return this.#wait(next - start);
  }

  #wait(bytes: number): typeof MISSING {
    this.#wanted = bytes;
    return MISSING;
  }
}
