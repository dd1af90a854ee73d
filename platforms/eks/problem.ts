/** What is wrong with what is asked for, and where, for whoever knows how the user wrote it. */

export interface Problem {
  /** Below the platform's section, such as `["pools", "servers", "instanceTypes", 0]`. */
  readonly path: readonly (string | number)[];
  /** What is wrong and what would be allowed. */
  readonly message: string;
}
