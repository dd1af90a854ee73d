/** bench.json: the last result of every row, of whichever run. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { BadInput, codeOf, Failure, messageOf } from "../../lib/errors";
import type { BenchRow } from "./row";
import { benchRowSchema } from "./row";

/** The file of results. */
export class BenchFile {
  private constructor(
    readonly path: string,
    /** All ids, in the order of the file. */
    private readonly order: readonly string[],
    private rows: readonly BenchRow[],
  ) {}

  /**
   * Reads the file; a missing file is empty.
   * @throws BadInput when the file contains something else, which must not be overwritten
   */
  static open(path: string, order: readonly string[]): BenchFile {
    try {
      return new BenchFile(path, order, z.array(benchRowSchema).parse(JSON.parse(readFileSync(path, "utf8"))));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return new BenchFile(path, order, []);
      const why = codeOf(error) === undefined ? "does not contain results of this version" : messageOf(error);
      throw new BadInput(path, [`${why}; move it away, or pass another file with --output`]);
    }
  }

  /**
   * Replaces a row. The file is written under another name and renamed, so that it is always complete.
   * @throws Failure when it cannot be written
   */
  put(row: BenchRow): void {
    this.rows = mergeRows(this.rows, row, this.order);
    const temporary = `${this.path}.${process.pid}`;
    try {
      writeFileSync(temporary, `${JSON.stringify(this.rows, null, 2)}\n`);
      renameSync(temporary, this.path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw new Failure(`${this.path} cannot be written: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** The rows in order, with one replaced, and without those of benchmarks that no longer exist. Pure. */
export function mergeRows(rows: readonly BenchRow[], row: BenchRow, order: readonly string[]): BenchRow[] {
  const byId = new Map([...rows, row].map((each) => [each.id, each]));
  return order.flatMap((id) => byId.get(id) ?? []);
}
