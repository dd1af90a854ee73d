/** bench.json: the last result of every row, whichever of them a run measured. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { BadInput, codeOf, Failure, messageOf } from "../../lib/errors";
import type { Result } from "./result";
import { resultSchema } from "./result";

export class BenchFile {
  private constructor(
    readonly path: string,
    /** Every id there is, in the order of the file. */
    private readonly order: readonly string[],
    private rows: readonly Result[],
  ) {}

  /** @throws BadInput when there is a file which is something else: it is not this program's to overwrite */
  static open(path: string, order: readonly string[]): BenchFile {
    try {
      return new BenchFile(path, order, z.array(resultSchema).parse(JSON.parse(readFileSync(path, "utf8"))));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return new BenchFile(path, order, []);
      const why = codeOf(error) === undefined ? "is no list of results of this version" : messageOf(error);
      throw new BadInput(path, [`${why}; move it away, or name another file with --output`]);
    }
  }

  /** Puts a row in the place of its predecessor. The file is always whole: the old one or the new one. */
  put(row: Result): void {
    this.rows = merged(this.rows, row, this.order);
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
export function merged(rows: readonly Result[], row: Result, order: readonly string[]): Result[] {
  const byId = new Map([...rows, row].map((each) => [each.id, each]));
  return order.flatMap((id) => byId.get(id) ?? []);
}
