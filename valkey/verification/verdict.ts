/** A verdict: the assertions about a deployment, and whether all of them hold. Pure. */
import type { Mode } from "../node";
import type { Assertion } from "./assertion";
import type { DeploymentFacts } from "./facts";
import type { Shard } from "./shards";

/** The result of a verification. */
export interface Verdict {
  readonly deployment: string;
  readonly mode: Mode;
  /** True only when there are assertions and all of them hold. */
  readonly pass: boolean;
  readonly assertions: readonly Assertion[];
  /** Assertions left out on request. */
  readonly skippedAssertions: readonly string[];
  /** The shards as the nodes themselves report them; one shard in replication mode. */
  readonly shards: readonly Shard[];
}

/** The verdict of assertions. */
export function makeVerdict(
  { deployment, mode, skippedAssertions }: DeploymentFacts,
  assertions: readonly Assertion[],
  shards: readonly Shard[],
): Verdict {
  const pass = assertions.length > 0 && assertions.every((each) => each.pass);
  return { deployment, mode, pass, assertions, skippedAssertions, shards };
}
