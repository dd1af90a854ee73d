/** A problem of a plan, with the path of the option that causes it. */

export interface Problem {
  /** Path of the option in the platform's section, such as `["pools", "servers", "instanceTypes", 0]`. */
  readonly path: readonly (string | number)[];
  /** Sentence that says what is wrong and what is allowed. */
  readonly message: string;
}
