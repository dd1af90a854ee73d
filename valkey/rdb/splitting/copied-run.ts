/** Copies bytes from one RDB file to others. */
import type { RdbWriter } from "./rdb-writer";

/** Bytes that follow each other in the source and go to the same target. They are copied at once. */
export class CopiedRun {
  #writer: RdbWriter | undefined;
  #database: number | undefined;
  #buffer: Buffer | undefined;
  #from = 0;
  #to = 0;

  /** Says to which target and database the next bytes belong. */
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

  /** Copies what has been added. */
  end(): void {
    if (this.#buffer !== undefined) this.#writer?.copy(this.#buffer, this.#from, this.#to);
    this.#buffer = undefined;
  }
}
