import type { Mode } from "../node";
import type { Assertion } from "./assertions";
import type { DeploymentFacts } from "./facts";
import type { Shard } from "./shards";

/** The result of a verification. */
export interface Verdict {
  readonly deployment: string;
  readonly mode: Mode;
  /** True if there is at least one assertion and all assertions hold. */
  readonly pass: boolean;
  readonly assertions: readonly Assertion[];
  /** Assertions that were skipped at the user's request. */
  readonly skippedAssertions: readonly string[];
  /** The shards that the nodes report. In replication mode with exactly one primary, there is a single shard. */
  readonly shards: readonly Shard[];
}

export function makeVerdict(
  { deployment, mode, skippedAssertions }: DeploymentFacts,
  assertions: readonly Assertion[],
  shards: readonly Shard[],
): Verdict {
  const pass = assertions.length > 0 && assertions.every((each) => each.pass);
  return { deployment, mode, pass, assertions, skippedAssertions, shards };
}
