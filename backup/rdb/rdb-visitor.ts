import type { SlotRange } from "../../valkey/topology/slots";
import type { RdbHeader } from "./rdb-format";
import type { RdbKey } from "./rdb-key";

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
