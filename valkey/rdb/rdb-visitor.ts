/** The interface between a walk over an RDB file and the code that uses what the walk finds. */
import type { SlotRange } from "../topology/slots";
import type { RdbHeader } from "./rdb-format";
import type { RdbKey } from "./rdb-key";

/** Receives the content of an RDB file from a walk over the file, in the order of the file. Calls are synchronous. */
export interface RdbVisitor {
  header?(header: RdbHeader): void;
  aux?(name: Buffer, value: Buffer): void;
  /** Called for a library of functions. @param code source code of the library */
  functionLibrary?(code: Buffer): void;
  /**
   * Called if the server was receiving these slots from a different shard. The file then has only some of the slots'
   * keys.
   */
  slotImport?(ranges: readonly SlotRange[]): void;
  /** Called for data of a module that belong to no key. */
  moduleAux?(): void;
  key?(key: RdbKey): void;
  /**
   * Called with the bytes of the present key as they are in the file, in one or more pieces. The first piece is TTL,
   * type and key. All other pieces are the value.
   */
  keyBytes?(buffer: Buffer, from: number, to: number): void;
  /** Called when the present key is complete. @param end position after the key's value */
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
