/** The interface between a walk over an RDB file and the code that uses what the walk finds. */
import type { SlotRange } from "../topology/slots";
import type { RdbHeader } from "./rdb-format";
import type { RdbKey } from "./rdb-key";

/** Receives what the walk finds, in the order of the file. Calls are synchronous. */
export interface RdbVisitor {
  header?(header: RdbHeader): void;
  aux?(name: Buffer, value: Buffer): void;
  /** A library of functions. @param code its source code */
  functionLibrary?(code: Buffer): void;
  /** The server was receiving these slots from a different shard. The file has some of their keys. */
  slotImport?(ranges: readonly SlotRange[]): void;
  /** Data of a module that belong to no key. */
  moduleAux?(): void;
  key?(key: RdbKey): void;
  /**
   * Bytes of the present key as they are in the file: TTL, type, key and value, in one or more pieces. The first
   * piece is TTL, type and key.
   */
  keyBytes?(buffer: Buffer, from: number, to: number): void;
  /** The present key is complete. @param end position after its value */
  keyEnd?(end: number): void;
}

export interface RdbSummary {
  readonly header: RdbHeader;
  readonly keys: number;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** Whether the file has a checksum. A server with `rdbchecksum no` writes none. */
  readonly hasChecksum: boolean;
}
