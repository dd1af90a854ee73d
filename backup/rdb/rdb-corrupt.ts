import { Failure } from "../../lib/errors";

export class RdbCorrupt extends Failure {
  /** @param problem a clause, such as `the checksum is wrong` @param offset bytes from the beginning of the file */
  constructor(
    readonly problem: string,
    readonly offset?: number,
  ) {
    super(`RDB${offset === undefined ? "" : ` at byte ${offset}`}: ${problem}`);
    this.name = "RdbCorrupt";
  }
}
