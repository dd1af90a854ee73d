import type { Mode } from "../node";
import type { OptionalAssertion } from "./facts";
import type { JudgedFacts } from "./shards";
import type { Judgement, Violation } from "./violations";

/** One assertion: what must hold, how it is judged, who repairs it, and what a person does if it does not hold. */
export interface AssertionRow {
  readonly what: string;
  /** Expected state, unless the judge knows it better. */
  readonly expected: string;
  /** Undefined if the deployment does not need the assertion. Violations alone mean that the expected state was found. */
  readonly judge: (facts: JudgedFacts) => Judgement | readonly Violation[] | undefined;
  /** @default both */
  readonly mode?: Mode;
  /** Group by which the user skips the assertion. */
  readonly group?: OptionalAssertion;
  /** Whether it can recover by itself: with a large data set, replicas take minutes to get their data. */
  readonly recovers?: true;
  /**
   * `heals`: a repair by the controller can make it true. `heals-abandoned`: so, if nobody works on the migration any
   * more. `heals-settings`: so, if the controller may repair settings. `needed`: it must hold before the controller
   * repairs anything. Without a value, the controller does not repair because of it.
   */
  readonly repair?: "heals" | "heals-abandoned" | "heals-settings" | "needed";
  /** Whether the assertion must hold for the running nodes, so that these nodes have all data of the deployment. */
  readonly part?: true;
  /** Whether it fails if a shard has lost its primary. */
  readonly lostShard?: true;
  /** Whether it can begin to hold when a replica takes over from its primary. */
  readonly handOver?: true;
  /** Why it usually does not hold. */
  readonly cause: string;
  /**
   * The next step of a person. `NODE`, `HOST` and `PORT` stand for the first node that violates the assertion.
   */
  readonly next: {
    /** For deployments of this project on Kubernetes. */
    readonly own: string;
    /** For all other servers. */
    readonly others: string;
  };
}
