/** bench.json: the last result of every row, whichever of them a run measured. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { BadInput, codeOf, Failure, messageOf } from "../../lib/errors";
import type { BenchRow } from "./row";
import { benchRowSchema } from "./row";

export class BenchFile {
  private constructor(
    readonly path: string,
    /** Every id there is, in the order of the file. */
    private readonly order: readonly string[],
    private rows: readonly BenchRow[],
  ) {}

  /** @throws BadInput when there is a file which is something else: it is not this program's to overwrite */
  static open(path: string, order: readonly string[]): BenchFile {
    try {
      return new BenchFile(path, order, z.array(benchRowSchema).parse(JSON.parse(readFileSync(path, "utf8"))));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return new BenchFile(path, order, []);
      const why = codeOf(error) === undefined ? "is no list of results of this version" : messageOf(error);
      throw new BadInput(path, [`${why}; move it away, or name another file with --output`]);
    }
  }

  /** Puts a row in the place of its predecessor. The file is always whole: the old one or the new one. */
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

/** Rows in their order, with one of them new; those that no benchmark makes any more are dropped. Pure. */
export function mergeRows(rows: readonly BenchRow[], row: BenchRow, order: readonly string[]): BenchRow[] {
  const byId = new Map([...rows, row].map((each) => [each.id, each]));
  return order.flatMap((id) => byId.get(id) ?? []);
}
