import { Failure } from "../../lib/errors";

/** Error for an RDB file or a value that is truncated, damaged, or of an unknown version. */
export class RdbCorrupt extends Failure {
  /**
   * @param problem the problem as a clause, such as `the checksum is wrong`
   * @param offset position of the problem in bytes from the beginning of the file, if it is known
   */
  constructor(
    readonly problem: string,
    readonly offset?: number,
  ) {
    super(`RDB${offset === undefined ? "" : ` at byte ${offset}`}: ${problem}`);
    this.name = "RdbCorrupt";
  }
}
