/** Copies bytes from one RDB file to other RDB files. */
import type { RdbWriter } from "./rdb-writer";

/** Bytes that are next to each other in the source and go to the same target. They are copied together. */
export class CopiedRun {
  #writer: RdbWriter | undefined;
  #database: number | undefined;
  #buffer: Buffer | undefined;
  #from = 0;
  #to = 0;

  /** Sets the target and the database of the bytes that are added next. */
  continueIn(writer: RdbWriter, database: number): void {
    if (writer === this.#writer && database === this.#database) return;
    this.end();
    writer.selectDatabase(database);
    this.#writer = writer;
    this.#database = database;
  }

  add(buffer: Buffer, from: number, to: number): void {
    if (buffer === this.#buffer && from === this.#to) {
      this.#to = to;
      return;
    }
    this.end();
    this.#buffer = buffer;
    this.#from = from;
    this.#to = to;
  }

  /** Copies the added bytes to their target. */
  end(): void {
    if (this.#buffer !== undefined) this.#writer?.copy(this.#buffer, this.#from, this.#to);
    this.#buffer = undefined;
  }
}
